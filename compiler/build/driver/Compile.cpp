// Compiles a model under a plan to the bytes of an executable.
#include "compiler/build/driver/Compile.h"

#include "compiler/build/driver/CompileTarget.h"
#include "compiler/build/driver/FitMemory.h"
#include "compiler/build/driver/GenerateCode.h"
#include "compiler/build/emit/Emit.h"
#include "compiler/decide/plan/ApplyPlan.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/decide/plan/MeshRanks.h"
#include "compiler/decide/plan/PlanOrders.h"
#include "compiler/decide/plan/PlanToJson.h"
#include "compiler/decide/plan/ScheduleDecisions.h"
#include "compiler/price/memory/StaticMemory.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/search/placement/PlaceStep.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/File.h"
#include "dialects/graph/ModelConfig.h"
#include "passes/schedule/Passes.h"
#include "runtime/format/Header.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace dtc {
namespace {

// The flags of all passes, nested ones too, each once, in order. MLIR tells of nested passes by its
// text alone: "builtin.module(canonicalize{max-iterations=10},builtin.module(cse))".
SmallVector<std::string> flagsOf(OpPassManager &passes) {
  std::string text, name;
  llvm::raw_string_ostream stream(text);
  passes.printAsTextualPipeline(stream);
  SmallVector<std::string> flags;
  int braces = 0; // around options
  for (char c : text) {
    if (braces == 0 && (llvm::isAlnum(c) || c == '-' || c == '.')) {
      name += c;
      continue;
    }
    if (braces == 0 && c != '(' && !name.empty() && !is_contained(flags, name))
      flags.push_back(name); // the list that follows holds ops
    name.clear();
    braces += (c == '{') - (c == '}');
  }
  return flags;
}

class Compiler {
public:
  Compiler(ModuleOp module, const Plan &plan, const CompileOptions &options,
           ScheduledStep scheduled)
      : module(module), plan(plan), options(options), step(stepOptions(plan, options.step)),
        scheduled(std::move(scheduled)), capture(module->getContext()) {}

  Result<std::vector<uint8_t>> run() {
    if (std::string reason = whyNotExecutable(plan); !reason.empty())
      return UserError(reason);
    if (failed(graph::checkCompilable(module)))
      return failedPhase("looking for ops without kernels");
    Result<CompileTarget> target = readCompileTarget(options.target);
    if (!target)
      return target.error();
    target->cpu.optimized = target->hasCubin = !options.quickCode;
    onGpu = target->isGpu();
    ModelFacts facts = readModelFacts(module);
    if (Status bounded = checkLength(facts); !bounded)
      return bounded.error();
    if (auto from = module->getAttrOfType<StringAttr>(graph::kConfigAttr))
      config = from.str();
    else if (auto tied = module->getAttrOfType<StringAttr>(graph::kTiedAttr))
      config = "{\"tied\": " + tied.str() + "}";                  // see rt::otherNames
    for (StringRef name : {graph::kConfigAttr, graph::kTiedAttr}) // no pass reads them
      module->removeAttr(name);
    if (Status known = checkPrintAfter(); !known)
      return known.error();
    if (Status done = isScheduled() ? finishSchedule() : runPhases(); !done)
      return done.error();
    auto programs = llvm::to_vector(module.getOps<exec::ProgramOp>());
    assert(!programs.empty() && "the schedule phase makes exec.programs");
    enter("generating code");
    FailureOr<ProgramCode> code = generateCode(module, programs, *target);
    if (failed(code))
      return failedPhase("generating code");
    Result<std::vector<uint8_t>> file = emit(facts, programs, *code);
    if (!file)
      return file;
    const auto &manifest = *format::GetManifest(file->data() + format::headerBytes);
    if (Status fits = checkFits(plan, manifest); !fits)
      return fits.error();
    return file;
  }

private:
  // Flags that observe passes are about the passes that make the step from the model.
  bool isScheduled() const {
    return scheduled.module && scheduled.options == step && scheduled.onGpu == onGpu &&
           options.saveTemps.empty() && options.printAfter.empty() && !options.timing;
  }

  Status finishSchedule() {
    enter("checking the order of instructions");
    module = *scheduled.module;
    for (StringRef name : {graph::kConfigAttr, graph::kTiedAttr})
      module->removeAttr(name);
    PassManager passes(module->getContext());
    passes.enableVerifier(false);
    buildFinishPipeline(passes);
    if (failed(passes.run(module)) || failed(mlir::verify(module)))
      return failedPhase("checking the schedule");
    return {};
  }

  Status runPhases() {
    enter("differentiating and optimizing the graph");
    if (failed(applyPlan(module, plan)))
      return failedPhase("applying the plan");
    if (Status done = runPhase("01-graph", [&](OpPassManager &p) { addGraphPhase(p, step); });
        !done)
      return done.error();
    enter("splitting the step over ranks");
    if (failed(placeStep(module, plan.opSplits)))
      return failedPhase("applying the plan");
    if (Status done = runPhase("02-shard", addShardPhase); !done)
      return done.error();
    enter("ordering instructions and placing buffers");
    return schedule();
  }

  void enter(StringRef phase) const {
    if (options.onPhase)
      options.onPhase(phase);
  }

  UserError failedPhase(StringRef phase) {
    return capture.errorOr(
        UserError("compiling '" + plan.modelName + "': " + phase.str() + " did not succeed"));
  }

  // Lowering and checking all micro-batches of a step that no executable may have would take
  // minutes.
  Status checkLength(const ModelFacts &facts) {
    int64_t microBatches = plan.decisions.numMicroBatches;
    if (microBatches <= kFewLayers / std::max<int64_t>(facts.layers, 1))
      return {};
    std::optional<std::vector<StaticSize>> sizes = staticSizes(module, plan, onGpu);
    if (!sizes)
      return failedPhase("looking at how much it runs");
    for (const StaticSize &size : *sizes)
      if (std::string why = whyTooLong(size.length, microBatches); !why.empty())
        return UserError(why, kShorterSteps);
    return {};
  }

  void addOrder(OpPassManager &passes) const {
    ScheduleOptions order = scheduleOptions(plan.decisions);
    order.onGpu = onGpu;
    if (plan.decisions.pp == 1)
      addSchedulePhase(passes, order);
    else
      addStagesPhase(passes, order);
  }

  // Stages of a pipeline are modules of their own, each with its order.
  Status schedule() {
    if (plan.decisions.pp > 1)
      if (Status ordered = orderStages(module, plan, onGpu); !ordered)
        return ordered;
    // The passes that unroll layers grow with them, and checking the IR after each of them took as
    // long as they do: dtc-verify-exec checks what they make, and it is verified once behind them.
    if (Status done = runPhase(
            "03-schedule", [&](OpPassManager &p) { addOrder(p); },
            /*verifyEach=*/!options.printAfter.empty());
        !done)
      return done;
    return succeeded(mlir::verify(module)) ? Status() : failedPhase("checking the schedule");
  }

  // A pass that none of the phases runs would print nothing, without a word.
  Status checkPrintAfter() {
    if (options.printAfter.empty())
      return {};
    PassManager passes(module->getContext());
    addGraphPhase(passes, step);
    addShardPhase(passes);
    addOrder(passes);
    SmallVector<std::string> flags = flagsOf(passes);
    if (is_contained(flags, options.printAfter))
      return {};
    SmallVector<StringRef> names(flags.begin(), flags.end());
    std::string nearest = nearestName(options.printAfter, names);
    return UserError("--print-after: no pass of this plan is '" + options.printAfter + "'",
                     (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") +
                         "the passes are " + llvm::join(flags, ", "));
  }

  template <typename Add>
  Status runPhase(const std::string &name, Add add, bool verifyEach = true) {
    PassManager passes(module->getContext());
    passes.enableVerifier(verifyEach);
    add(passes);
    if (!options.printAfter.empty())
      printAfter(passes);
    if (options.timing)
      passes.enableTiming();
    if (failed(passes.run(module)))
      return failedPhase("running phase " + name.substr(3));
    return saveTemps(name);
  }

  void printAfter(PassManager &passes) {
    module->getContext()->disableMultithreading();
    std::string flag = options.printAfter;
    passes.enableIRPrinting([](Pass *, Operation *) { return false; },
                            [flag](Pass *pass, Operation *) { return pass->getArgument() == flag; },
                            /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/false,
                            /*printAfterOnlyOnFailure=*/false, llvm::errs());
  }

  Status saveTemps(const std::string &name) {
    if (options.saveTemps.empty())
      return {};
    if (std::error_code error = llvm::sys::fs::create_directories(options.saveTemps))
      return UserError("making directory '" + options.saveTemps + "': " + error.message());
    std::string text;
    llvm::raw_string_ostream(text) << module << "\n";
    return writeFileAtomically(options.saveTemps + "/" + name + ".mlir", text);
  }

  Result<std::vector<uint8_t>> emit(const ModelFacts &facts, ArrayRef<exec::ProgramOp> programs,
                                    const ProgramCode &code) {
    EmitInfo info;
    info.modelName = facts.name;
    info.sequenceLength = facts.sequenceLength;
    info.defaultLearningRate = options.defaultLearningRate;
    info.modelFlopsPerStep = facts.flopsPerSample * static_cast<double>(plan.globalBatch);
    info.peakFlopsPerDevice = options.peakFlopsPerDevice;
    // The duration of the search is dropped, so that the same input gives the same bytes.
    Plan embedded = plan;
    embedded.search.seconds = 0;
    info.planJson = planToJson(embedded);
    info.config = config;
    exec::ProgramOp any = programs.front();
    info.meshRanks =
        meshRanks(plan, llvm::to_vector(any.getAxisNames().getAsValueRange<StringAttr>()),
                  any.getAxisSizes());
    return emitExecutable(programs, code, info);
  }

  ModuleOp module;
  const Plan &plan;
  const CompileOptions &options;
  StepOptions step;
  ScheduledStep scheduled;
  bool onGpu = false; // see ScheduleOptions
  std::string config; // see EmitInfo
  DiagnosticCapture capture;
};

} // namespace

Result<std::vector<uint8_t>> compileModel(ModuleOp module, Plan plan, const CompileOptions &options,
                                          ScheduledStep scheduled) {
  return Compiler(module, plan, options, std::move(scheduled)).run();
}

} // namespace dtc

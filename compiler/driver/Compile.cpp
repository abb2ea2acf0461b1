// From a model and a plan to the bytes of an executable.
#include "compiler/driver/Compile.h"

#include "compiler/emit/Emit.h"
#include "compiler/placement/PlaceStep.h"
#include "compiler/plan/ApplyPlan.h"
#include "compiler/plan/Executable.h"
#include "compiler/plan/PlanOrders.h"
#include "compiler/plan/ScheduleDecisions.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/File.h"
#include "compiler/workload/ModelFacts.h"
#include "passes/codegen/KernelLibrary.h"
#include "passes/schedule/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace dtc {
namespace {

struct Target {
  std::string cpu;
  std::vector<std::string> features; // as in /proc/cpuinfo
};

const std::vector<std::string> kLevel3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma"};
const std::vector<std::string> kLevel4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                                          "avx512vl"};

Result<Target> readTarget(StringRef text) {
  auto [device, cpu] = text.split(':');
  if (device != "cpu")
    return UserError("--target " + text.str() + ": this dtc compiles for cpu only",
                     "use --target cpu, cpu:x86-64-v3, cpu:x86-64-v4 or cpu:native");
  if (cpu == "native")
    cpu = llvm::sys::getHostCPUFeatures().lookup("avx512f") ? "x86-64-v4" : "x86-64-v3";
  if (cpu.empty() || cpu == "x86-64-v3")
    return Target{"x86-64-v3", kLevel3};
  if (cpu != "x86-64-v4")
    return UserError("--target " + text.str() + ": '" + cpu.str() +
                         "' is not a microarchitecture that dtc knows",
                     "use x86-64-v3 (AVX2), x86-64-v4 (AVX-512) or native");
  Target target{"x86-64-v4", kLevel3};
  target.features.insert(target.features.end(), kLevel4.begin(), kLevel4.end());
  return target;
}

class Compiler {
public:
  Compiler(ModuleOp module, const Plan &plan, const CompileOptions &options)
      : module(module), plan(plan), options(options), step(options.step),
        capture(module->getContext()) {
    step.batch = plan.decisions.dp * plan.decisions.microBatch;
    step.microBatches = plan.decisions.numMicroBatches;
    step.optimizer = plan.optimizer;
    step.precision = plan.precision;
    step.gradDtype = plan.origin.gradDtype;
    step.offload = plan.decisions.offloadOptimizer;
  }

  Result<std::vector<uint8_t>> run() {
    if (std::string reason = whyNotExecutable(plan); !reason.empty())
      return UserError(reason);
    if (failed(graph::checkCompilable(module)))
      return failedPhase("looking for ops without kernels");
    Result<Target> target = readTarget(options.target);
    if (!target)
      return target.error();
    ModelFacts facts = readModelFacts(module);
    if (failed(applyPlan(module, plan)))
      return failedPhase("applying the plan");
    if (Outcome done = runPhase("01-graph", [&](OpPassManager &p) { addGraphPhase(p, step); });
        !done)
      return done.error();
    if (failed(placeStep(module, plan.opSplits)))
      return failedPhase("applying the plan");
    if (Outcome done = runPhase("02-shard", addShardPhase); !done)
      return done.error();
    if (Outcome done = schedule(); !done)
      return done.error();
    FailureOr<KernelLibrary> kernels = lowerKernels(module, {target->cpu, ""});
    if (failed(kernels))
      return failedPhase("generating code");
    return emit(facts, *target, *kernels);
  }

private:
  UserError failedPhase(StringRef phase) {
    return capture.errorOr(
        UserError("compiling '" + plan.modelName + "': " + phase.str() + " did not succeed"));
  }

  // Stages of a pipeline are modules of their own, each with its order.
  Outcome schedule() {
    if (plan.decisions.pp == 1)
      return runPhase("03-schedule", [&](OpPassManager &p) {
        addSchedulePhase(p, scheduleOptions(plan.decisions));
      });
    if (Outcome ordered = orderStages(module, plan); !ordered)
      return ordered;
    return runPhase("03-schedule",
                    [&](OpPassManager &p) { addStagesPhase(p, scheduleOptions(plan.decisions)); });
  }

  template <typename Add> Outcome runPhase(const std::string &name, Add add) {
    PassManager passes(module->getContext());
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

  Outcome saveTemps(const std::string &name) {
    if (options.saveTemps.empty())
      return {};
    if (std::error_code error = llvm::sys::fs::create_directories(options.saveTemps))
      return UserError("making directory '" + options.saveTemps + "': " + error.message());
    std::string text;
    llvm::raw_string_ostream(text) << module << "\n";
    return writeFileAtomically(options.saveTemps + "/" + name + ".mlir", text);
  }

  Result<std::vector<uint8_t>> emit(const ModelFacts &facts, const Target &target,
                                    const KernelLibrary &kernels) {
    auto programs = llvm::to_vector(module.getOps<exec::ProgramOp>());
    assert(!programs.empty() && "the schedule phase makes exec.programs");
    EmitInfo info;
    info.modelName = facts.name;
    info.cpuFeatures = target.features;
    info.sequenceLength = facts.sequenceLength;
    info.defaultLearningRate = options.defaultLearningRate;
    info.modelFlopsPerStep = facts.flopsPerSample * static_cast<double>(plan.globalBatch);
    info.peakFlopsPerDevice = options.peakFlopsPerDevice;
    // How long the search took is no property of the program: the same input gives the same bytes.
    Plan embedded = plan;
    embedded.search.seconds = 0;
    info.planJson = planToJson(embedded);
    return emitExecutable(programs, kernels.bytes, info);
  }

  ModuleOp module;
  const Plan &plan;
  const CompileOptions &options;
  StepOptions step;
  DiagnosticCapture capture;
};

} // namespace

Result<std::vector<uint8_t>> compileModel(ModuleOp module, Plan plan,
                                          const CompileOptions &options) {
  return Compiler(module, plan, options).run();
}

} // namespace dtc

// dtc compile: writes the executable that dtrun runs.
#include "compiler/decide/plan/PlanJson.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "tools/dtc/PhaseLine.h"
#include "tools/dtc/PlanFiles.h"
#include "tools/dtc/PlanningFlags.h"

#include "compiler/build/driver/Compile.h"
#include "compiler/build/driver/CompileTarget.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/prove/verify/VerifyFile.h"
#include "compiler/support/File.h"
#include "compiler/support/Hints.h"
#include "compiler/support/Units.h"
#include "runtime/format/Header.h"
#include "runtime/format/Target.h"
#include "runtime/format/dte_generated.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace dtc {
namespace {

struct CompileFlags : PlanningFlags {
  std::string planFile, output;
  CompileOptions options;
  std::string schedule = "cosine";
};

UserError contradiction(const CompileFlags &flags, const std::string &flag,
                        const std::string &value, const std::string &what,
                        const std::string &plans) {
  return UserError("plan '" + flags.planFile + "' was made for " + what + " " + plans + ", " +
                       flag + " says " + value,
                   "leave out " + flag + ", or plan again with 'dtc plan'");
}

// Checks that flags of one optimizer are not given for another one.
Status checkOptimizerFlags(const CompileFlags &flags, OptimizerKind optimizer) {
  if (flags.options.step.coupledDecay && optimizer != OptimizerKind::Sgd)
    return UserError("--coupled-decay needs the optimizer sgd, the plan has " +
                         nameOf(optimizer).str(),
                     "leave it out, or use --optimizer sgd");
  for (const char *flag : {"--muon-momentum", "--muon-rate"})
    if (flags.given(flag) && optimizer != OptimizerKind::Muon)
      return UserError(std::string(flag) + " needs the optimizer muon, the plan has " +
                           nameOf(optimizer).str(),
                       "leave it out, or use --optimizer muon");
  return {};
}

// Checks that flags do not contradict the plan, which has decided everything that they ask for.
Status checkFlagsFit(const CompileFlags &flags, const Plan &plan) {
  for (const char *flag : {"--fix", "--max-memory", "--stack", "--grad-dtype", "--executable"})
    if (flags.given(flag))
      return UserError(std::string(flag) + " is for planning, and --plan '" + flags.planFile +
                           "' gives a plan",
                       std::string("leave out ") + flag + ", or give it to 'dtc plan'");
  struct Number {
    const char *flag, *what;
    int64_t value, plans;
  };
  for (const Number &number : {
           Number{"--devices", "a number of devices of", flags.devices, plan.devices},
           Number{"--global-batch", "a global batch of", flags.globalBatch, plan.globalBatch},
           Number{"--nodes", "a number of nodes of", flags.nodes, plan.nodes + plan.idleNodes},
       })
    if (flags.given(number.flag) && number.value != number.plans)
      return contradiction(flags, number.flag, std::to_string(number.value), number.what,
                           std::to_string(number.plans));
  if (flags.given("--precision") && flags.precision != plan.precision)
    return contradiction(flags, "--precision", nameOf(*flags.precision).str(), "precision",
                         nameOf(plan.precision).str());
  if (flags.given("--optimizer") && flags.optimizer != plan.optimizer)
    return contradiction(flags, "--optimizer", nameOf(flags.optimizer).str(), "optimizer",
                         nameOf(plan.optimizer).str());
  if (flags.given("--optimizer-state") && flags.optimizerState != plan.optimizerState)
    return contradiction(flags, "--optimizer-state", nameOf(flags.optimizerState).str(),
                         "optimizer state", nameOf(plan.optimizerState).str());
  return checkOptimizerFlags(flags, plan.optimizer);
}

// Returns the flop/s of a device for the matrix products of a plan.
double peakOf(const Topology &topology, Precision precision) {
  return topology.meanPeak(computeTypeOf(precision));
}

Result<Plan> planOf(const CompileFlags &flags, mlir::ModuleOp module, double &peakFlops,
                    ScheduledStep &scheduled) {
  if (flags.planFile.empty() && flags.globalBatch == 0)
    return UserError("compiling '" + flags.model + "': there is neither --plan nor --global-batch",
                     "give --plan plan.json, or the flags of 'dtc plan'");
  if (flags.planFile.empty()) {
    if (Status decays = checkOptimizerFlags(flags, flags.optimizer); !decays)
      return decays.error();
    Result<PlanRequest> request = requestOf(flags, module);
    if (!request)
      return request.error();
    peakFlops = peakOf(request->topology, request->precision);
    request->executable = true;
    request->step = flags.options.step;
    Result<CompileTarget> target = readCompileTarget(flags.options.target);
    if (!target)
      return target.error();
    request->onGpu = target->isGpu();
    Result<PlanResult> planResult = planModel(*request);
    if (!planResult)
      return planResult.error();
    planResult->best.origin = originOf(flags, *request, planResult->best);
    scheduled = std::move(planResult->scheduled);
    return planResult->best;
  }
  Result<std::string> text = readFile(flags.planFile);
  if (!text)
    return text.error();
  Plan plan;
  if (Status read = planFromJson(*text, flags.planFile, plan); !read)
    return read.error();
  if (Status agreed = checkFlagsFit(flags, plan); !agreed)
    return agreed.error();
  // Only MFU needs the topology, for the peak of the device. A plan from another machine may name a
  // topology that does not exist here.
  bool isNamed = flags.given("--topology");
  Result<Topology> topology = isNamed ? loadTopology(flags.topology, flags.nodes, plan.devices)
                                      : loadTopologyOf(plan, flags.nodes);
  if (topology)
    peakFlops = peakOf(*topology, plan.precision);
  if (!isNamed)
    return plan;
  if (!topology)
    return topology.error();
  if (topology->name != plan.topologyName)
    return contradiction(flags, "--topology", topology->name, "topology", plan.topologyName);
  return plan;
}

// Checks that the plan was made for this model, sequence length included.
Status checkPlanFits(const CompileFlags &flags, mlir::ModuleOp module, const Plan &plan) {
  ModelFacts facts = readModelFacts(module);
  auto differs = [&](const char *what, int64_t plans, int64_t models) {
    return UserError("plan '" + flags.planFile + "' was made for " + what + " " +
                         std::to_string(plans) + ", model '" + flags.model + "' has " +
                         std::to_string(models),
                     "plan this model again with 'dtc plan', or give the plan's --seq-len");
  };
  if (plan.sequenceLength != facts.sequenceLength)
    return differs("sequence length", plan.sequenceLength, facts.sequenceLength);
  if (plan.parameters != facts.parameters)
    return differs("a number of parameters of", plan.parameters, facts.parameters);
  // Models of other shapes may have as many parameters, but rarely also as many operations.
  double flops = facts.flopsPerSample * static_cast<double>(plan.globalBatch);
  if (std::abs(flops - plan.flopsPerStep) > 1e-9 * flops)
    return UserError("plan '" + flags.planFile + "' was made for a model of " +
                         llvm::formatv("{0:e6}", plan.flopsPerStep).str() +
                         " operations a step, model '" + flags.model + "' has " +
                         llvm::formatv("{0:e6}", flops).str(),
                     "plan this model again with 'dtc plan'");
  // The model may have as many operations but a different structure, such as another number of
  // heads.
  if (!plan.modelShape.empty() && plan.modelShape != facts.shape)
    return UserError("plan '" + flags.planFile + "' was made for a model of other ops or shapes (" +
                         plan.modelShape + ") than model '" + flags.model + "' (" + facts.shape +
                         ")",
                     "plan this model again with 'dtc plan'");
  return {};
}

// Proves what is going to be written. A failure is an error in dtc, not of its user.
int prove(const std::vector<uint8_t> &bytes, const std::string &output) {
  Result<VerifyReport> report = verifyFile(bytes, output);
  if (report && !report->fault)
    return 0;
  UserError error = report ? faultError(*report->fault, output) : report.error();
  error.message =
      "internal error: nothing is written, since the program is wrong: " + error.message;
  error.report(llvm::errs());
  return kInternalError;
}

// Returns "model.dte: 1.2 MiB, target cpu:x86-64-v3, 8 ranks with 345.6 MiB of memory each".
std::string describeWritten(const CompileFlags &flags, const std::vector<uint8_t> &bytes) {
  format::Header header;
  rt::Status status = format::readHeader(bytes, flags.output, header);
  assert(status.ok() && "the file has been proved");
  (void)status;
  const format::Manifest *manifest = format::GetManifest(bytes.data() + header.manifestOffset);
  auto sized = [](uint64_t size) {
    return printRounded(static_cast<double>(size), Quantity::Bytes);
  };
  size_t ranks = manifest->rank_program()->size();
  std::string text =
      flags.output + ": " + sized(bytes.size()) + ", target " + flags.options.target + ", " +
      std::to_string(ranks) + (ranks == 1 ? " rank with " : " ranks with ") +
      sized(manifest->peak_memory_bytes()) + " of memory" + (ranks == 1 ? "" : " each");
  if (manifest->peak_host_bytes() > 0)
    text += " and " + sized(manifest->peak_host_bytes()) + " of the host's";
  return text;
}

// Compiles the model that the plan names, if none is given, with the sequence length of the plan.
Status takeModelOfPlan(CompileFlags &flags) {
  Result<Plan> plan = readPlan(flags.planFile, "compiling");
  if (!plan)
    return plan.error();
  int64_t given = flags.sequence;
  if (Status taken =
          takeModelOf(*plan, flags.planFile, "compiling", "give the model before --plan", flags);
      !taken)
    return taken.error();
  if (flags.given("--seq-len"))
    flags.sequence = given;
  return {};
}

int runCompile(CompileFlags &flags) {
  if (Status checked = checkWritable(flags.output); !checked)
    return checked.error().report(llvm::errs());
  if (!flags.given("MODEL"))
    if (Status taken = takeModelOfPlan(flags); !taken)
      return taken.error().report(llvm::errs());
  PhaseLine phases;
  if (flags.options.timing || !flags.options.printAfter.empty())
    phases.disable();
  flags.options.onPhase = [&](llvm::StringRef phase) { phases.enter(phase); };
  auto fail = [&](const UserError &error) {
    phases.clear();
    return reportWithFile(error, llvm::errs());
  };
  phases.enter("reading the model");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string said; // errors or notes
  llvm::raw_string_ostream errors(said);
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModelOf(context, flags, errors);
  if (!said.empty()) {
    phases.clear();
    llvm::errs() << said;
  }
  if (!module)
    return 1;
  phases.enter("planning");
  flags.options.step.cosine = flags.schedule == "cosine";
  ScheduledStep scheduled;
  Result<Plan> plan = planOf(flags, *module, flags.options.peakFlopsPerDevice, scheduled);
  if (!plan)
    return fail(plan.error());
  if (Status fits = checkPlanFits(flags, *module, *plan); !fits)
    return fail(fits.error());
  Result<std::vector<uint8_t>> bytes =
      compileModel(*module, *plan, flags.options, std::move(scheduled));
  if (!bytes)
    return fail(bytes.error());
  phases.enter("proving the program");
  int code = prove(*bytes, flags.output);
  phases.clear();
  if (code)
    return code;
  llvm::StringRef contents(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  if (Status wrote = writeFileAtomically(flags.output, contents); !wrote)
    return fail(wrote.error());
  // The file may be a device or a pipe, such as /dev/stdout. Then its bytes may have gone there.
  if (llvm::sys::fs::is_regular_file(flags.output) &&
      !llvm::StringRef(flags.output).starts_with("/dev/") &&
      !llvm::StringRef(flags.output).starts_with("/proc/"))
    llvm::outs() << describeWritten(flags, *bytes) << "\n";
  return 0;
}

void addStepFlags(CLI::App &command, CompileFlags &flags) {
  StepOptions &step = flags.options.step;
  command
      .add_option("--lr", flags.options.defaultLearningRate,
                  "learning rate when dtrun gets no --lr")
      ->check(numberBetween(0));
  command.add_option("--lr-schedule", flags.schedule, "cosine or constant")
      ->check(oneOf({"cosine", "constant"}));
  command.add_option("--warmup-steps", step.warmupSteps, "steps of linear warm-up")
      ->check(wholeNumber(0));
  command.add_option("--min-lr-ratio", step.minLrRatio, "last learning rate / first")
      ->check(numberBetween(0, 1));
  command.add_option("--weight-decay", step.weightDecay, "weight decay of matrices, decoupled")
      ->check(numberBetween(0));
  command.add_flag("--coupled-decay", step.coupledDecay,
                   "sgd: add weight decay to the gradient, as torch.optim.SGD does");
  command.add_option("--clip-norm", step.clipNorm, "largest global gradient norm; 0: no clipping")
      ->check(numberBetween(0));
  command.add_option("--beta1", step.beta1, "decay of the first moment; sgd's and lars's momentum")
      ->check(numberBetween(0, 0.9999999));
  command.add_option("--beta2", step.beta2, "decay of the second moment")
      ->check(numberBetween(0, 0.9999999));
  command.add_option("--epsilon", step.epsilon, "added to the root of the second moment")
      ->check(numberBetween(1e-30, 0.9999999));
  command.add_option("--muon-momentum", step.muonMomentum, "muon: momentum of matrices")
      ->check(numberBetween(0, 0.9999999));
  command
      .add_option_function<std::string>(
          "--muon-rate",
          [&step](const std::string &name) { step.matrixRate = *matrixRateFrom(name); },
          "muon: factor of the learning rate of matrices, " + alternatives(namesOf(kMatrixRates)) +
              " (default: match-rms-adamw)")
      ->check(oneOf(namesOf(kMatrixRates)));
  command
      .add_option("--trust-coefficient", step.trustCoefficient,
                  "lars: of a tensor's norm over its gradient's")
      ->check(numberBetween(1e-9));
}

} // namespace

void addCompile(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "compile", "Writes the executable that dtrun runs\n\nExample:\n  dtc compile "
                 "gpt2/config.json --topology cpu --plan plan.json -o gpt2.dte\n"
                 "  dtc compile --plan plan.json -o gpt2.dte");
  auto flags = std::make_shared<CompileFlags>();
  flags->add(*command, /*planGiven=*/true);
  command->add_option("--plan", flags->planFile, "plan JSON of 'dtc plan -o' (default: plan now)");
  command->add_option(
      "--target", flags->options.target,
      "cpu[:x86-64-v3|x86-64-v4|native], cuda[:sm_80|sm_90|sm_100], or simt, an emulated GPU");
  command->add_option("-o,--output", flags->output, "the .dte file to write")->required();
  command->add_option("--save-temps", flags->options.saveTemps,
                      "write the IR after every phase into this directory");
  command->add_option("--print-after", flags->options.printAfter,
                      "print the IR after this pass, e.g. dtc-partition");
  command->add_flag(
      "--quick-code", flags->options.quickCode,
      "leave the processor's code as it comes, and a GPU's as PTX: compiles in half the "
      "time, for tests of plans; steps are slower");
  command->add_flag("--timing", flags->options.timing, "print the time of every pass");
  addStepFlags(*command, *flags);
  command->callback([flags, &exitCode] {
    if (!flags->given("MODEL") && flags->planFile.empty())
      throw CLI::RequiredError("MODEL");
    exitCode = runCompile(*flags);
  });
}

} // namespace dtc

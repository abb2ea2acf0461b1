// Flags and steps that planning and compiling share.
#include "tools/dtc/PlanningFlags.h"

#include "compiler/decide/decisions/ReadPins.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/decide/decisions/Pins.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/File.h"
#include "compiler/support/Units.h"
#include "dialects/graph/Graph.h"
#include "passes/Pipelines.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace dtc {

void PlanningFlags::add(CLI::App &command, bool planGiven) {
  this->command = &command;
  auto *modelOption = command.add_option(
      "MODEL", model,
      std::string("a .mlir file in the graph dialect, a Hugging Face config.json or a folder that "
                  "holds one, or a name of the catalogue, such as llama-3-8b") +
          (planGiven ? " (default: the model of --plan)" : ""));
  if (!planGiven)
    modelOption->required();
  command
      .add_option("--seq-len", sequence, "sequence length for a config.json (default: the model's)")
      ->check(wholeNumber(1));
  auto *documents = command.add_flag(
      "--documents", ofDocuments,
      "samples are of several documents: attention, positions and targets stay within "
      "each (a config.json; graph IR says it itself)");
  command
      .add_option("--document-loss", documentLoss,
                  "token: the mean over all tokens of the batch; document: that over documents of "
                  "their means")
      ->needs(documents)
      ->check(oneOf({"token", "document"}));
  auto *name =
      command.add_option("--topology", topology, "a name of 'dtc topology list', or a TOML file");
  if (!planGiven)
    name->required();
  command.add_option("--nodes", nodes, "number of nodes of a catalogue system")
      ->check(wholeNumber(1));
  command.add_option("--devices", devices, "use this many devices at most")->check(wholeNumber(1));
  auto *batch = command.add_option("--global-batch", globalBatch, "samples of one step")
                    ->check(wholeNumber(1));
  if (!planGiven)
    batch->required();
  command
      .add_option_function<std::string>(
          "--precision", [this](const std::string &name) { precision = precisionFrom(name); },
          alternatives(namesOf(kPrecisions)) +
              ": matrix products of linear layers in 8 bits, all else as bf16 "
              "(default: bf16 on GPUs and TPUs that have it, f16 on V100, f32 on CPUs)")
      ->check(oneOf(namesOf(kPrecisions)));
  command
      .add_option_function<std::string>(
          "--optimizer", [this](const std::string &name) { optimizer = *optimizerFrom(name); },
          alternatives(namesOf(kOptimizers)))
      ->check(oneOf(namesOf(kOptimizers)));
  command
      .add_option_function<std::string>(
          "--optimizer-state",
          [this](const std::string &name) { optimizerState = *stateTypeFrom(name); },
          alternatives(namesOf(kStateTypes)) +
              ": the form in which the optimizer's state is stored (default: f32)")
      ->check(oneOf(namesOf(kStateTypes)));
  command
      .add_option_function<std::string>(
          "--grad-dtype", [this](const std::string &name) { gradDtype = gradientTypeFrom(name); },
          "dtype in which gradients are reduced: " + alternatives(offeredGradientTypes()) +
              " (default: as the software of --stack reduces them)")
      ->check(oneOf(offeredGradientTypes()));
  command
      .add_option("--fix", fix,
                  "pin choices, key=value[,key=value...], and say what each costs; may be given "
                  "several times; keys are\n" +
                      pinKeysText())
      ->join(',');
  command
      .add_option("--max-memory", maxMemory,
                  "bytes a device may use ('64 GiB' or a number), or none")
      ->check(notEmpty());
  auto *margin =
      command
          .add_option("--memory-margin", memoryMargin,
                      "memory of each device to leave free: a share of it, such as 0.1, or bytes")
          ->check(notEmpty());
  command
      .add_option("--risk", risk,
                  "largest probability that the plan does not fit, by the known errors of "
                  "estimates of memory (default: 0.2)")
      ->check(CLI::Range(0.01, 0.99))
      ->excludes(margin);
  command
      .add_option("--stack", stack,
                  "the software that runs the plan: a name of 'dtc stack list', or a TOML file")
      ->check(notEmpty())
      ->capture_default_str();
  searchSeconds = kSearchSeconds;
  command
      .add_option("--search-seconds", searchSeconds,
                  "end the search after this many seconds with its best plan: a guard, since "
                  "searches are limited by work, so that a busy machine finds the same plan")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  command.add_flag("--executable", executable,
                   "search only plans that 'dtc compile' lowers today (the default without --stack "
                   "and for topologies of CPUs, unless --fix or the model asks for more)");
}

mlir::OwningOpRef<mlir::ModuleOp>
loadModelOf(mlir::MLIRContext &context, const PlanningFlags &flags, llvm::raw_ostream &errors) {
  loadDialects(context);
  return loadModel(&context, flags.model, flags.sequence, errors, flags.documents());
}

// Reads the pairs of --fix. Errors: no pair, several pairs without a comma, a key given twice.
static Status readFixed(const std::string &text, std::map<std::string, std::string> &fixed) {
  llvm::SmallVector<llvm::StringRef> pins;
  llvm::StringRef(text).split(pins, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef pin : pins) {
    auto [key, value] = pin.split('=');
    if (value.contains('=')) {
      llvm::SmallVector<llvm::StringRef> words;
      llvm::SplitString(pin, words, " \t;");
      bool arePairs =
          llvm::all_of(words, [](llvm::StringRef word) { return word.count('=') == 1; });
      return UserError("--fix '" + pin.str() + "' has several '=', wanted a comma between pairs",
                       arePairs ? "use --fix " + llvm::join(words, ",")
                                : "example: --fix dp=4,tp=2");
    }
    if (value.empty())
      return UserError("--fix '" + pin.str() + "' is not key=value", "example: --fix dp=4,tp=2");
    if (!fixed.emplace(key.trim().str(), value.trim().str()).second)
      return UserError("--fix names '" + key.trim().str() + "' twice");
  }
  return {};
}

// Reads a margin: "0.1" is a share, anything else is a number of bytes.
static Status readMargin(const std::string &text, PlanRequest &request) {
  double share = 0;
  if (text.empty())
    return {};
  if (!llvm::StringRef(text).getAsDouble(share) && share < 1) {
    if (share < 0)
      return UserError("--memory-margin " + text + ": a margin is 0 or more",
                       "give a share, such as 0.1, or bytes, such as 4GiB");
    request.marginShare = share;
    return {};
  }
  Result<int64_t> bytes = parseBytes(text);
  if (!bytes)
    return UserError("--memory-margin: " + bytes.error().message, bytes.error().note);
  int64_t has = request.maxMemoryBytes.value_or(request.topology.device.memoryBytes);
  if (*bytes >= has)
    return UserError("--memory-margin " + text + " leaves nothing of the " +
                         printRounded(static_cast<double>(has), Quantity::Bytes) +
                         " that a device has",
                     "give a share, such as 0.1, or fewer bytes");
  request.marginBytes = *bytes;
  return {};
}

Result<PlanRequest> requestOf(const PlanningFlags &flags, mlir::ModuleOp module) {
  PlanRequest request;
  request.model = module;
  Result<Topology> topology = loadTopology(flags.topology, flags.nodes, flags.devices);
  if (!topology)
    return topology.error();
  request.topology = *topology;
  Result<SoftwareStack> software = loadStackFor(flags.stack, topology->device);
  if (!software)
    return software.error();
  request.software = std::move(*software);
  request.onNodes = [name = flags.topology](int64_t nodes) {
    return loadTopology(name, nodes, /*devices=*/0);
  };
  request.globalBatch = flags.globalBatch;
  request.precision = flags.precision.value_or(topology->usualPrecision());
  request.optimizer = flags.optimizer;
  request.optimizerState = flags.optimizerState;
  request.gradDtype = flags.gradDtype;
  request.executable = flags.executable;
  request.prefersExecutable = !flags.given("--stack");
  request.onGpu = topology->device.deviceClass == DeviceClass::Gpu;
  if (Status read = readFixed(flags.fix, request.fixed); !read)
    return read.error();
  if (flags.maxMemory == "none") {
    request.ignoreMemory = true;
  } else if (!flags.maxMemory.empty()) {
    Result<int64_t> bytes = parseBytes(flags.maxMemory);
    if (!bytes)
      return UserError("--max-memory: " + bytes.error().message, bytes.error().note);
    request.maxMemoryBytes = *bytes;
  }
  if (Status read = readMargin(flags.memoryMargin, request); !read)
    return read.error();
  request.risk = flags.risk;
  request.searchSeconds = flags.searchSeconds;
  return request;
}

// The same checks that 'dtc compile' makes of a plan and its model.
static std::string whyNotCompiled(const PlanRequest &request, const Plan &plan) {
  if (request.software && !request.software->runsPrograms)
    return "";
  DiagnosticCapture capture(request.model->getContext());
  mlir::ModuleOp model = request.model;
  if (failed(graph::checkCompilable(model)))
    return "the model has ops that it can't lower yet";
  return whyNotExecutable(plan);
}

PlanOrigin originOf(const PlanningFlags &flags, const PlanRequest &request, const Plan &plan) {
  return {flags.model,
          flags.topology,
          flags.nodes,
          request.programGradDtype(),
          flags.stack,
          request.maxMemoryBytes.value_or(figures::memoryLimitOf(plan, request.topology)),
          whyNotCompiled(request, plan)};
}

} // namespace dtc

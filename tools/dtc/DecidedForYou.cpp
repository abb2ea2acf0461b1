#include "tools/dtc/DecidedForYou.h"

#include "compiler/show/report/DecidedForUser.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/ModelConfig.h"
#include "tools/dtc/PlanningFlags.h"

#include "llvm/Support/FormatVariadic.h"

namespace dtc {
namespace {

// Bytes per parameter for parameter, gradient and optimizer state in f32: AdamW needs 16
// (Rajbhandari et al. 2020, arXiv:1910.02054, section 3.1).
constexpr double kStateBytes = 16;

// Returns a hint if one device could hold the model, so that only the batch can be shared.
std::string batchHint(const PlanRequest &request, const Plan &plan) {
  double state = kStateBytes * static_cast<double>(plan.parameters);
  if (plan.globalBatch >= plan.devices ||
      state > static_cast<double>(request.topology.device.memoryBytes))
    return "";
  return std::to_string(plan.globalBatch) +
         (plan.globalBatch == 1 ? " sample is" : " samples are") + " shared by " +
         std::to_string(plan.devices) + " devices, each of which could hold the model: with " +
         "--global-batch " + std::to_string(plan.devices) +
         " each has a sample; fewer devices would be used better";
}

} // namespace

DecidedForUser decidedForYou(const PlanningFlags &flags, const PlanRequest &request,
                             const Plan &plan) {
  DecidedForUser all;
  auto add = [&](const char *what, const std::string &decided, const char *flag) {
    all.rows.push_back({what, decided, flag});
  };
  mlir::ModuleOp model = request.model;
  bool isGpu = request.topology.device.deviceClass == DeviceClass::Gpu;
  if (!flags.given("--precision"))
    add("precision",
        nameOf(plan.precision).str() + (isGpu ? ", which these devices are fastest in" : ""),
        "--precision");
  if (!flags.given("--seq-len") && model->hasAttr(graph::kConfigAttr) && plan.sequenceLength > 0)
    add("sequence", std::to_string(plan.sequenceLength) + " tokens, the longest of the config",
        "--seq-len");
  if (!flags.given("--stack"))
    add("software",
        plan.origin.software + (plan.origin.whyNotCompiled.empty()
                                    ? ", as 'dtc compile' and dtrun run this plan"
                                    : ", whose 'dtc compile' does not take this plan"),
        "--stack");
  if (!flags.given("--grad-dtype") && plan.decisions.hasReplicas())
    add("gradient type",
        "reduced in " + nameOf(plan.gradients.value_or(PlanGradients()).reducedIn).str(),
        "--grad-dtype");
  if (plan.architecture.capacity > 0)
    add("expert capacity",
        llvm::formatv("{0:f2} of an expert's even share", plan.architecture.capacity).str(),
        "the config");
  all.hint = batchHint(request, plan);
  return all;
}

std::string decidedText(const DecidedForUser &decided) {
  std::string text = decided.rows.empty() ? "" : "  decided for you\n";
  for (const DecidedRow &row : decided.rows)
    text += llvm::formatv("    {0,-16}{1} ({2})\n", row.what, row.decided, row.flag);
  return text + (decided.hint.empty() ? "" : "  hint              " + decided.hint + "\n");
}

static std::string quoted(const std::string &word) {
  constexpr llvm::StringLiteral plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-./:=,+@%";
  if (!word.empty() && llvm::StringRef(word).find_first_not_of(plain) == llvm::StringRef::npos)
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string commandOf(const PlanningFlags &flags, const Plan &plan) {
  std::string text = "dtc plan " + quoted(flags.model);
  auto add = [&](llvm::StringRef flag, const std::string &value) {
    if (!value.empty())
      text += " " + flag.str() + " " + quoted(value);
  };
  auto addNumber = [&](llvm::StringRef flag, int64_t value) {
    add(flag, value > 0 ? std::to_string(value) : "");
  };
  // Graph IR has its own length, and accepts the flag if it gives the same one.
  addNumber("--seq-len", plan.sequenceLength);
  if (flags.ofDocuments)
    text += " --documents";
  add("--document-loss", flags.given("--document-loss") ? flags.documentLoss : "");
  add("--topology", flags.topology);
  addNumber("--nodes", flags.nodes);
  addNumber("--devices", flags.devices);
  addNumber("--global-batch", flags.globalBatch);
  add("--precision", nameOf(plan.precision).str());
  add("--optimizer", nameOf(flags.optimizer).str());
  if (flags.given("--optimizer-state"))
    add("--optimizer-state", nameOf(flags.optimizerState).str());
  if (flags.gradDtype)
    add("--grad-dtype", nameOf(*flags.gradDtype).str());
  // A stack that is given is planned with all that it can do, not only what 'dtc compile' lowers.
  if (flags.given("--stack"))
    add("--stack", flags.stack);
  add("--max-memory", flags.maxMemory);
  add("--memory-margin", flags.memoryMargin);
  if (flags.risk)
    add("--risk", llvm::formatv("{0}", *flags.risk).str());
  if (flags.given("--search-seconds"))
    add("--search-seconds", llvm::formatv("{0}", flags.searchSeconds).str());
  add("--fix", flags.fix);
  return text + (flags.executable ? " --executable" : "");
}

} // namespace dtc

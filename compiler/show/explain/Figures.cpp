// Figures as people read them.
#include "compiler/show/explain/Figures.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/support/Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace dtc::figures {
namespace {

template <typename... Args> std::string formatted(const char *format, Args... args) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, args...);
  return text;
}

// Above this gap a relaxation says little of a plan: it leaves out collectives, bubbles and
// launches.
constexpr double kNotableGap = 0.25;

constexpr TimePart kTimeParts[] = {
    {"compute", "compute_s", &PlanTimes::compute},
    {"recomputation", "recompute_s", &PlanTimes::recompute},
    {"exposed tensor-parallel comm", "exposed_tensor_s", &PlanTimes::exposedTensor},
    {"exposed context-parallel comm", "exposed_context_s", &PlanTimes::exposedContext},
    {"exposed expert-parallel comm", "exposed_expert_s", &PlanTimes::exposedExpert},
    {"exposed ZeRO comm of layers", "exposed_gathers_s", &PlanTimes::exposedGathers},
    {"exposed copies of activations", "exposed_host_s", &PlanTimes::exposedHost},
    {"exposed gradient comm", "exposed_gradients_s", &PlanTimes::exposedGradients},
    {"transfers between stages", "stage_transfers_s", &PlanTimes::stageTransfers},
    {"bubble", "bubble_s", &PlanTimes::bubble},
    {"optimizer", "optimizer_s", &PlanTimes::optimizer},
};

constexpr MemoryPart kMemoryParts[] = {
    {"parameters", &PlanMemory::parameters},   {"gradients", &PlanMemory::gradients},
    {"optimizer", &PlanMemory::optimizer},     {"activations", &PlanMemory::activations},
    {"temporaries", &PlanMemory::temporaries}, {"communication", &PlanMemory::communication},
    {"reserved", &PlanMemory::reserved},
};

} // namespace

std::string seconds(double value) {
  // Rounding errors of subtractions are shown as 0.
  return std::abs(value) < 5e-10 ? "0 s" : printRounded(value, Quantity::Seconds);
}

std::string bytes(int64_t value) {
  return printRounded(static_cast<double>(value), Quantity::Bytes);
}

std::string signedSeconds(double value) {
  std::string text = seconds(std::abs(value));
  return text == "0 s" ? text : (value < 0 ? "-" : "+") + text;
}

std::string signedBytes(int64_t value) {
  return value == 0 ? "0 B" : (value < 0 ? "-" : "+") + bytes(std::abs(value));
}

std::string percent(double part, double whole) {
  return formatted("%.1f %%", whole > 0 ? 100 * part / whole : 0.0);
}

std::string signedPercent(double share) {
  std::string text = formatted("%+.1f %%", 100 * share);
  return text == "-0.0 %" || text == "+0.0 %" ? "0.0 %" : text;
}

std::string number(double value, int digits) { return formatted("%.*g", digits, value); }

std::string sumText(llvm::ArrayRef<int64_t> numbers) {
  std::string list;
  while (!numbers.empty()) {
    size_t run = numbers.take_while([&](int64_t each) { return each == numbers.front(); }).size();
    list += (list.empty() ? "" : "+") + (run > 1 ? std::to_string(run) + "*" : "") +
            std::to_string(numbers.front());
    numbers = numbers.drop_front(run);
  }
  return list;
}

std::string causalUtilisation(const PlanPrediction &predicted) {
  if (predicted.mfuCausal == 0 || predicted.mfuCausal == predicted.mfu)
    return "";
  return percent(predicted.mfuCausal, 1) + " counting attention causal";
}

std::string utilisation(const PlanPrediction &predicted) {
  std::string full = percent(predicted.mfu, 1), causal = causalUtilisation(predicted);
  return causal.empty() ? full : full + " (" + causal + ")";
}

std::string fitText(const Plan &plan) {
  double probability = plan.predicted.fitProbability;
  if (!plan.predicted.fits || probability <= 0)
    return "";
  return ", fits with " + (probability > 0.99 ? "more than 99 %" : percent(probability, 1));
}

std::string softwareNote(const Plan &plan, const Topology &topology) {
  if (plan.origin.software != kOwnStack)
    return "";
  std::string why =
      plan.origin.whyNotCompiled.empty() ? whyNotExecutable(plan) : plan.origin.whyNotCompiled;
  if (!why.empty())
    return ", but 'dtc compile' does not take this plan: " + why;
  return topology.device.deviceClass == DeviceClass::Gpu && plan.devices > 1
             ? ", which has trained on one GPU, and on several emulated ones only; --stack names "
               "other software"
             : "";
}

std::string expertGatherText(const Plan &plan) {
  const Decisions &d = plan.decisions;
  if (plan.architecture.experts == 0 || d.tp == 1 || !d.sequenceParallel ||
      !llvm::StringRef(plan.origin.software).starts_with("megatron"))
    return "";
  return "are costed with one all-gather over tp more each way than " + plan.origin.software +
         " has";
}

std::string gradientTypesText(const Plan &plan) {
  bool isNarrow = plan.precision != Precision::F32 && plan.gradients &&
                  plan.gradients->reducedIn != GradientType::F32;
  if (!plan.decisions.hasReplicas() || !isNarrow)
    return "";
  GradientType asked = plan.origin.gradDtype;
  return ("sent in " + nameOf(plan.gradients->reducedIn) + ", added up over micro-batches in " +
          nameOf(plan.gradients->accumulatedIn) + ", as '" + plan.origin.software + "' does")
             .str() +
         (asked == GradientType::F32 ? "" : " with --grad-dtype " + nameOf(asked).str());
}

std::string idleNodesText(const Plan &plan) {
  if (plan.idleNodes == 0)
    return "";
  std::string text =
      std::to_string(plan.idleNodes) + " of " + std::to_string(plan.nodes + plan.idleNodes) + ": " +
      (plan.allNodesSeconds > 0 ? "on all of them a step takes " + seconds(plan.allNodesSeconds)
                                : "no plan uses all of them") +
      " with a global batch of " + std::to_string(plan.globalBatch);
  std::string batches;
  for (int64_t batch : plan.allNodesBatches)
    if (batch != plan.globalBatch)
      batches += (batches.empty() ? "" : " or ") + std::to_string(batch);
  return batches.empty() ? text : text + "; --global-batch " + batches + " divides over all";
}

std::string simplerText(const Plan &plan) {
  const PlanSearch &search = plan.search;
  if (search.passedOver.empty())
    return "";
  constexpr double notable = 5e-4;
  double less = 1 - search.fastestSeconds / plan.predicted.stepSeconds;
  // The fastest one is that of expected seconds, which count a chance not to fit.
  bool isInExpectation = less < 0 || less > search.tieShare + notable;
  std::string text = isInExpectation ? "than the one that is fastest if chances to fit count, "
                                     : "than the fastest, ";
  text += seconds(search.fastestSeconds);
  if (less > notable && !isInExpectation)
    text += " (" + percent(less, 1) + " less)";
  return text + ", which takes " + search.passedOver + "; plans within " +
         percent(search.tieShare, 1) + " count as equally fast";
}

std::string relaxationText(const PlanSearch &search) {
  if (search.lowerBoundSeconds <= 0)
    return "";
  std::string text = "no plan at all, whatever its cut, recomputation, placements and order, is "
                     "faster than " +
                     seconds(search.lowerBoundSeconds);
  if (search.optimalityGap <= kNotableGap)
    return text + ", gap " + percent(search.optimalityGap, 1);
  return text + "; it counts work alone, and is too far off to judge this plan by";
}

std::vector<std::string> recipeCells(const Plan &plan, const KnownRecipe &recipe) {
  bool hasTime = recipe.fits && !recipe.isChosen;
  double slower = recipe.stepSeconds / plan.predicted.stepSeconds - 1;
  bool isTie =
      std::abs(slower) <= plan.predicted.noise; // the noise that is printed below the runners-up
  return {recipe.name,
          recipe.fits ? seconds(recipe.stepSeconds) : "",
          hasTime ? signedPercent(slower) + (isTie ? ", a tie" : "") : "",
          bytes(recipe.peakMemoryBytes),
          recipe.isChosen ? "(this plan)" : recipe.losesOn,
          recipe.pins};
}

Throughput throughputOf(const Plan &plan) {
  const PlanPrediction &p = plan.predicted;
  if (plan.sequenceLength > 0)
    return {p.tokensPerSecond, "tokens/s"};
  return {static_cast<double>(plan.globalBatch) / p.stepSeconds, "samples/s"};
}

int64_t memoryLimitOf(const Plan &plan, const Topology &topology) {
  if (plan.origin.memoryLimitBytes > 0)
    return plan.origin.memoryLimitBytes;
  int64_t limit = topology.device.memoryBytes; // the least of all
  for (const PlanStage &stage : plan.stages)
    for (const DeviceGroup &group : topology.groups)
      if (stage.peakMemoryBytes == plan.predicted.peakMemoryBytes && !stage.ranks.empty() &&
          group.firstDevice <= stage.ranks.front() &&
          stage.ranks.back() < group.firstDevice + group.numDevices)
        limit = group.device.memoryBytes;
  return limit;
}

std::string rangesText(llvm::ArrayRef<int64_t> numbers) {
  std::vector<std::string> runs;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    std::string run = std::to_string(numbers[first]);
    runs.push_back(last > first ? run + "-" + std::to_string(numbers[last]) : run);
    first = last + 1;
  }
  if (runs.size() > 4)
    return runs[0] + ", " + runs[1] + ", ... (" + std::to_string(numbers.size()) + ")";
  return llvm::join(runs, ", ");
}

llvm::ArrayRef<TimePart> timeParts() { return kTimeParts; }
llvm::ArrayRef<MemoryPart> memoryParts() { return kMemoryParts; }

std::string settingsText(const Plan &plan) {
  std::string text;
  for (const Decision *each : decisions()) {
    std::string phrase = each->phraseOf(plan.decisions);
    bool isUsual = phrase == each->phraseOf(Decisions());
    if (each->listing == Listing::Always || (each->listing == Listing::IfUnusual && !isUsual))
      text += (text.empty() ? "" : " ") + phrase;
  }
  return text;
}

} // namespace dtc::figures

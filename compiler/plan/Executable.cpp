// Limits of 'dtc compile'.
#include "compiler/plan/Executable.h"

#include "compiler/plan/DecisionNames.h"
#include "runtime/format/Limits.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

// An executable lists its runs: a few per micro-batch.
constexpr int64_t kMostMicroBatches = int64_t(1) << 16;

constexpr ExecutableLimit kLimits[] = {
    {"cp", "--fix cp=1", [](const Decisions &d) { return d.cp == 1; }},
    {"ep", "--fix ep=1", [](const Decisions &d) { return d.ep == 1; }},
    {"tp_of_parts", "--fix tp_of_parts=even",
     [](const Decisions &d) { return !d.hasUnevenTensor(); }},
    {"etp", "--fix etp=tp", [](const Decisions &d) { return !d.foldedExperts; }},
    {"vocab_over_pp", "--fix vocab_over_pp=0",
     [](const Decisions &d) { return d.vocabOverPp == 0; }},
    {"offload_activations", "--fix offload_activations=0",
     [](const Decisions &d) { return d.layersOnHost == LayersOnHost::None; }},
    {"num_micro_batches", "a larger micro_batch, or a smaller --global-batch",
     [](const Decisions &d) { return d.numMicroBatches <= kMostMicroBatches; }},
};

constexpr llvm::StringRef kCantYet = ", which dtc can't compile yet; plan with ";

} // namespace

const ExecutableLimit *brokenLimit(const Decisions &decisions) {
  const ExecutableLimit *broken =
      llvm::find_if(kLimits, [&](const ExecutableLimit &limit) { return !limit.holds(decisions); });
  return broken == std::end(kLimits) ? nullptr : broken;
}

std::string whyNotExecutable(const Plan &plan) {
  if (const ExecutableLimit *limit = brokenLimit(plan.decisions))
    return ("the plan has " + limit->key + " = " + valueOf(plan.decisions, limit->key) + kCantYet +
            limit->mend)
        .str();
  if (!isCompilable(plan.precision))
    return ("the plan has precision = " + nameOf(plan.precision) + kCantYet + "--precision " +
            nameOf(storedAs(plan.precision)))
        .str();
  return "";
}

double overLongest(const StepLength &length) {
  return std::max(static_cast<double>(length.instructions) /
                      static_cast<double>(format::maxExecuted),
                  static_cast<double>(length.stops) / static_cast<double>(format::maxStops));
}

std::string whyTooLong(const StepLength &length, int64_t microBatches) {
  auto over = [&](int64_t count, const char *what, uint64_t most) -> std::string {
    if (count <= static_cast<int64_t>(most))
      return "";
    return "a step of " + std::to_string(microBatches) + " micro-batches runs " +
           std::to_string(count) + " " + what + ", an executable at most " + std::to_string(most);
  };
  std::string why = over(length.instructions, "instructions", format::maxExecuted);
  return why.empty()
             ? over(length.stops, "records, waits, collectives and transfers", format::maxStops)
             : why;
}

} // namespace dtc

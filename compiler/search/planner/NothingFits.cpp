// Writes the errors of requests that no plan fits.
#include "compiler/search/planner/NothingFits.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Pins.h"
#include "compiler/decide/decisions/ReadPins.h"
#include "compiler/support/Units.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

std::string bytesText(double bytes) { return printRounded(bytes, Quantity::Bytes); }

std::string onHostText(const Decisions &d) {
  std::string layers = d.offloadsLayers() ? "activations" : "";
  if (!d.offloadOptimizer)
    return layers;
  return layers.empty() ? "the optimizer" : "the optimizer and " + layers;
}

// Returns the decisions as --fix takes them: the usual ones of those that every list has, and all
// that are not usual.
std::string shortText(const Decisions &d) {
  std::map<std::string, std::string> pins = pinsOf(d);
  std::string text;
  for (const Decision *each : decisions()) {
    auto pin = pins.find(each->pin.name.str());
    if (pin != pins.end() && (each->listing == Listing::Always || !each->isUsual(d)))
      text += (text.empty() ? "" : " ") + pin->first + "=" + pin->second;
  }
  return text;
}

// Lists the kinds of memory, the largest first, without those below 1 %: "20 GiB activations, 12
// GiB optimizer".
template <typename Memory> std::string kindsOf(const Memory &memory) {
  auto entry = [](auto bytes, const char *kind) {
    return std::pair<double, const char *>(static_cast<double>(bytes), kind);
  };
  std::pair<double, const char *> kinds[] = {
      entry(memory.parameters, "parameters"),   entry(memory.gradients, "gradients"),
      entry(memory.optimizer, "optimizer"),     entry(memory.activations, "activations"),
      entry(memory.temporaries, "temporaries"), entry(memory.communication, "communication"),
      entry(memory.reserved, "reserved")};
  llvm::sort(kinds, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string list;
  for (auto [bytes, kind] : kinds)
    if (bytes >= 0.01 * static_cast<double>(memory.total()))
      list += (list.empty() ? "" : ", ") + bytesText(bytes) + " " + kind;
  return list;
}

UserError smallestNeeds(const Decisions &d, double bytes, size_t fullest, const std::string &kinds,
                        llvm::StringRef limit) {
  std::string stage = d.pp > 1 ? "stage " + std::to_string(fullest) + " of it" : "it";
  return UserError("no plan fits: the smallest (" + shortText(d) + ") needs " + bytesText(bytes) +
                       " per device, the limit is " + limit.str() + "; " + stage + " holds " +
                       kinds,
                   "use more devices, a shorter sequence, or --max-memory none to see the plan "
                   "all the same");
}

} // namespace

UserError nothingFits(const Candidate &least, llvm::StringRef limit) {
  size_t fullest = least.step.fullestStage;
  const StepEstimate &step = least.step;
  if (step.hostIsShort)
    return UserError("no plan fits: the nearest (" + shortText(least.decisions) + ") needs " +
                         bytesText(step.hostBytes) + " of its host's memory per device for " +
                         onHostText(least.decisions) + ", the host has " +
                         bytesText(step.hostLimitBytes) + " for it; the device holds " +
                         bytesText(step.peakBytes) + " of " + limit.str(),
                     "use more devices, or --max-memory none to see the plan all the same");
  return smallestNeeds(least.decisions, step.peakBytes, fullest,
                       kindsOf(step.stages[fullest].memory), limit);
}

UserError nothingFits(const Plan &smallest, llvm::StringRef limit) {
  auto fullest = llvm::max_element(smallest.stages, [](const auto &a, const auto &b) {
    return a.peakMemoryBytes < b.peakMemoryBytes;
  });
  return smallestNeeds(smallest.decisions, static_cast<double>(smallest.predicted.peakMemoryBytes),
                       static_cast<size_t>(fullest - smallest.stages.begin()),
                       kindsOf(smallest.predicted.memory), limit);
}

} // namespace dtc

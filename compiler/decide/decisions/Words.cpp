// The words of decisions.
#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {
namespace {

constexpr ContextKind kContextKinds[] = {ContextKind::Ring, ContextKind::AllToAll,
                                         ContextKind::Both, ContextKind::AllGather};

} // namespace

static constexpr ScheduleKind kPlanned[] = {
    ScheduleKind::GPipe,       ScheduleKind::OneForwardOneBackward,
    ScheduleKind::Interleaved, ScheduleKind::ZeroBubbleH1,
    ScheduleKind::ZeroBubbleV, ScheduleKind::ZeroBubble2P,
    ScheduleKind::VHalf,       ScheduleKind::VMin};

static std::string listOfSchedules() {
  llvm::ArrayRef<ScheduleKind> kinds(kPlanned);
  std::string names = toString(kinds.front()).str();
  for (ScheduleKind kind : kinds.drop_front().drop_back())
    names += ", " + toString(kind).str();
  return names + " and " + toString(kinds.back()).str();
}

Result<ScheduleKind> scheduleFromPlan(llvm::StringRef name, int64_t virtualStages) {
  for (ScheduleKind kind : kPlanned) {
    if (name != toString(kind))
      continue;
    bool isZeroBubble = kind == ScheduleKind::ZeroBubbleH1;
    if (isZeroBubble && virtualStages == 2)
      return ScheduleKind::ZeroBubbleV;
    if (!splitsBackward(kind) || virtualStages == virtualStagesOf(kind))
      return kind;
    return UserError("schedule " + name.str() + " with " + std::to_string(virtualStages) +
                         " virtual stages does not exist",
                     isZeroBubble ? "use 1, or schedule zb-v with 2"
                                  : "use " + std::to_string(*virtualStagesOf(kind)));
  }
  return UserError("there is no schedule '" + name.str() + "'",
                   "schedules are " + listOfSchedules());
}

llvm::StringRef toString(ContextKind kind) {
  switch (kind) {
  case ContextKind::Ring:
    return "ring";
  case ContextKind::AllToAll:
    return "all-to-all";
  case ContextKind::Both:
    return "both";
  case ContextKind::AllGather:
    return "all-gather";
  }
  llvm_unreachable("all kinds have names");
}

std::optional<ContextKind> contextKindFrom(llvm::StringRef word) {
  for (ContextKind kind : kContextKinds)
    if (word == toString(kind))
      return kind;
  return std::nullopt;
}

llvm::StringRef toString(LayersOnHost layers) {
  switch (layers) {
  case LayersOnHost::None:
    return "none";
  case LayersOnHost::Some:
    return "some";
  case LayersOnHost::All:
    return "all";
  }
  llvm_unreachable("all have names");
}

std::string offloadText(const Decisions &d) {
  return (d.offloadsLayers() ? toString(d.layersOnHost).str() : "no") + " layers on the host";
}

std::string contextText(const Decisions &d) {
  return d.contextKind == ContextKind::Both
             ? "all-to-all in " + std::to_string(d.contextInner) + " and ring"
             : toString(d.contextKind).str();
}

std::string contextSentence(const Decisions &d) {
  switch (d.contextKind) {
  case ContextKind::Ring:
    return "keys and values go around a ring";
  case ContextKind::AllToAll:
    return "ranks swap parts of the sequence for heads";
  case ContextKind::Both:
    return std::to_string(d.headRanks()) +
           " ranks swap parts of the sequence for heads, keys and values go around a ring of " +
           std::to_string(d.ringRanks());
  case ContextKind::AllGather:
    return "ranks gather all keys and values";
  }
  llvm_unreachable("all kinds have words");
}

std::string vocabularyText(const Decisions &d) {
  return "embedding and output layer cut over the stages by words, algorithm " +
         std::to_string(d.vocabOverPp);
}

std::string zeroText(const Decisions &d) {
  return "ZeRO " + std::to_string(d.zero) +
         (d.hasZeroGroups() ? " in groups of " + std::to_string(d.zeroRanks()) : "");
}

std::string orderText(const AxisOrder &order) {
  std::string text;
  for (char axis : order)
    text += (text.empty() ? "" : " ") + std::string(1, axis) + "p";
  return text;
}

std::optional<AxisOrder> orderFrom(llvm::StringRef text) {
  AxisOrder order{'c', 'd', 'p', 't'}; // the first of all in the order of std::next_permutation
  do
    if (text == orderText(order))
      return order;
  while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

std::string tensorOfPartsText(const Decisions &d) {
  std::string text;
  for (int64_t ranks : d.tensorOfParts)
    if (ranks > 0)
      text += (text.empty() ? "" : "-") + std::to_string(ranks);
  return text.empty() ? "even" : text;
}

std::string recomputeText(const Decisions &d) {
  return d.mayRecomputeMore() ? "mixed" : toString(d.recompute).str();
}

llvm::StringRef placementText(const Decisions &d) {
  return d.placement > 0 ? "searched" : "megatron";
}

} // namespace dtc

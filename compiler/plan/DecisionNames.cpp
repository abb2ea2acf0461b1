// Decisions as people read and write them.
#include "compiler/plan/DecisionNames.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {
namespace {

constexpr ContextKind kContextKinds[] = {ContextKind::Ring, ContextKind::AllToAll,
                                         ContextKind::Both, ContextKind::AllGather};

template <auto Member> std::string number(const Decisions &d) {
  return std::to_string(static_cast<int64_t>(d.*Member));
}
template <bool Decisions::*Member> std::string yesOrNo(const Decisions &d) {
  return d.*Member ? "yes" : "no";
}

std::string expertTensorOf(const Decisions &d) { return d.foldedExperts ? "1" : "tp"; }
std::string scheduleOf(const Decisions &d) { return planNameOf(d.schedule).str(); }
std::string contextKindOf(const Decisions &d) { return toString(d.contextKind).str(); }
std::string orderOf(const Decisions &d) { return orderText(d.order); }
std::string placementOf(const Decisions &d) { return placementText(d).str(); }

// All schedules are the same without a pipeline.
std::string schedulePhrase(const Decisions &d) {
  if (d.pp == 1)
    return "";
  return scheduleOf(d) + (d.virtualStages > 1 ? " x" + std::to_string(d.virtualStages) : "");
}
// All kinds are the same where no rank shares a sequence.
std::string contextPhrase(const Decisions &d) { return d.cp > 1 ? "cp by " + contextText(d) : ""; }
std::string vocabPhrase(const Decisions &d) {
  return d.vocabOverPp > 0 ? "vocabulary over pp by algorithm " + std::to_string(d.vocabOverPp)
                           : "vocabulary on end stages";
}
std::string recomputePhrase(const Decisions &d) { return "recompute " + recomputeText(d); }
std::string offloadPhrase(const Decisions &d) {
  return d.offloadOptimizer ? "optimizer on the host" : "optimizer on the device";
}
std::string onHostOf(const Decisions &d) { return toString(d.layersOnHost).str(); }
std::string layersOnHostPhrase(const Decisions &d) {
  return "activations of " + (d.layersOnHost == LayersOnHost::None ? "no" : onHostOf(d)) +
         " layers on the host";
}
std::string zeroGroupPhrase(const Decisions &d) {
  return d.zeroGroup > 0 ? "ZeRO in groups of " + std::to_string(d.zeroGroup)
                         : "ZeRO over all of dp";
}
std::string placementPhrase(const Decisions &d) { return "placement " + placementOf(d); }
std::string tensorPhrase(const Decisions &d) {
  return d.hasUnevenTensor() ? "tp by part " + tensorOfPartsText(d) : "one tp on all parts";
}
std::string orderPhrase(const Decisions &d) { return "order " + orderOf(d); }

constexpr DecisionName kNames[] = {
    {"dp", number<&Decisions::dp>, Listing::Always},
    {"tp", number<&Decisions::tp>, Listing::Always},
    {"tp_of_parts", tensorOfPartsText, Listing::IfUnusual, tensorPhrase},
    {"pp", number<&Decisions::pp>, Listing::Always},
    {"cp", number<&Decisions::cp>, Listing::Always},
    {"cp_kind", contextKindOf, Listing::IfUnusual, contextPhrase},
    {"cp_inner", number<&Decisions::contextInner>},
    {"ep", number<&Decisions::ep>, Listing::Always},
    {"etp", expertTensorOf, Listing::IfUnusual},
    {"sp", number<&Decisions::sequenceParallel>, Listing::Always},
    {"zero", number<&Decisions::zero>, Listing::Always},
    {"zero_group", number<&Decisions::zeroGroup>, Listing::IfUnusual, zeroGroupPhrase},
    {"micro_batch", number<&Decisions::microBatch>, Listing::Always},
    {"num_micro_batches", number<&Decisions::numMicroBatches>},
    {"schedule", scheduleOf, Listing::IfUnusual, schedulePhrase},
    {"virtual_stages", number<&Decisions::virtualStages>},
    {"vocab_over_pp", number<&Decisions::vocabOverPp>, Listing::IfUnusual, vocabPhrase},
    {"recompute", recomputeText, Listing::IfUnusual, recomputePhrase},
    {"offload_optimizer", yesOrNo<&Decisions::offloadOptimizer>, Listing::IfUnusual, offloadPhrase},
    {"offload_activations", onHostOf, Listing::IfUnusual, layersOnHostPhrase},
    {"placement", placementOf, Listing::IfUnusual, placementPhrase},
    {"axis_order", orderOf, Listing::IfUnusual, orderPhrase},
    {"overlap_gradients", yesOrNo<&Decisions::overlapGradients>},
    {"bucket_bytes", number<&Decisions::bucketBytes>},
};

} // namespace

llvm::StringRef planNameOf(ScheduleKind kind) {
  return toString(kind == ScheduleKind::ZeroBubbleV ? ScheduleKind::ZeroBubbleH1 : kind);
}

// The kinds that plans name; zero-bubble stands for ZB-V as well.
static constexpr ScheduleKind kPlanned[] = {
    ScheduleKind::GPipe,        ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
    ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubble2P,          ScheduleKind::VHalf,
    ScheduleKind::VMin};

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
                     isZeroBubble ? "use 1 (ZB-H1) or 2 (ZB-V)"
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

LayersOnHost layersOnHostOf(int64_t onHost, int64_t layers) {
  return onHost == 0       ? LayersOnHost::None
         : onHost < layers ? LayersOnHost::Some
                           : LayersOnHost::All;
}

std::string contextText(const Decisions &d) {
  return d.contextKind == ContextKind::Both
             ? "all-to-all in " + std::to_string(d.contextInner) + " and ring"
             : toString(d.contextKind).str();
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

bool mayDivideVocabulary(const Decisions &d) {
  bool hasPlaces =
      d.schedule == ScheduleKind::OneForwardOneBackward || d.schedule == ScheduleKind::VHalf;
  return d.pp > 1 && hasPlaces && d.zero <= 1;
}

std::string recomputeText(const Decisions &d) {
  return d.mayRecomputeMore() ? "mixed" : toString(d.recompute).str();
}

llvm::StringRef placementText(const Decisions &d) {
  return d.placement > 0 ? "searched" : "megatron";
}

llvm::ArrayRef<DecisionName> decisionNames() { return kNames; }

std::string valueOf(const Decisions &decisions, llvm::StringRef key) {
  const DecisionName *name =
      llvm::find_if(kNames, [&](const DecisionName &each) { return each.key == key; });
  assert(name != std::end(kNames) && "a key of decisionNames");
  return name->value(decisions);
}

} // namespace dtc

// Writes the errors of pins of a mesh, and of spaces without meshes.
#include "compiler/search/planner/MeshErrors.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/search/planner/ContextChoices.h"
#include "compiler/search/planner/Divisors.h"
#include "compiler/search/planner/MeshRules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

using D = Decisions;
namespace {

std::string number(int64_t value) { return std::to_string(value); }

// Finds the reason why pins and limits leave no mesh.
class MeshExplainer {
public:
  MeshExplainer(const SpaceLimits &limits, const Pins &pins) : limits(limits), pins(pins) {}

  std::optional<UserError> checkPins() const {
    int64_t product = 1, devices = limits.devices;
    std::string named;
    std::vector<int64_t> divisors = divisorsOf(devices);
    for (auto [name, pin] : {std::pair{"dp", pins[&D::dp]},
                             {"tp", pins[&D::tp]},
                             {"pp", pins[&D::pp]},
                             {"cp", pins[&D::cp]}}) {
      if (!pin)
        continue;
      if (devices % *pin != 0)
        return UserError(std::string("--fix ") + name + "=" + number(*pin) +
                             " does not divide the " + number(devices) + " devices of '" +
                             limits.topologyName + "'",
                         std::string("the nearest that does is ") + name + "=" +
                             number(nearestOf(divisors, *pin)));
      product *= *pin;
      named += (named.empty() ? "" : ",") + std::string(name) + "=" + number(*pin);
    }
    bool allGiven = pins[&D::dp] && pins[&D::tp] && pins[&D::pp] && pins[&D::cp];
    if (product > devices || devices % product != 0 || (allGiven && product != devices))
      return UserError("--fix " + named + " uses " + number(product) + " of " + number(devices) +
                           " devices",
                       mend(product));
    if (pins[&D::pp] && *pins[&D::pp] > mostChunks(limits))
      return UserError("--fix pp=" + number(*pins[&D::pp]) + ": the model has " +
                           number(limits.layers) + " layers, which make " +
                           number(mostChunks(limits)) + " stages at most",
                       "the nearest choice is pp=" +
                           number(*std::prev(llvm::upper_bound(divisors, mostChunks(limits)))));
    if (pins[&D::ep] && *pins[&D::ep] > 1 && limits.experts % *pins[&D::ep] != 0)
      return UserError("--fix ep=" + number(*pins[&D::ep]) + " does not divide the " +
                           number(limits.experts) + " experts of the model",
                       "the nearest that does is ep=" +
                           number(nearestOf(divisorsOf(limits.experts), *pins[&D::ep])));
    if (std::optional<UserError> error = checkFolding())
      return error;
    if (std::optional<UserError> error = checkTensorOfParts())
      return error;
    if (pins[&D::vocabOverPp].value_or(0) > 0 && !(limits.untied && limits.groups.empty()))
      return UserError("--fix vocab_over_pp=" + number(*pins[&D::vocabOverPp]) +
                           (limits.untied ? ": the stages of '" + limits.topologyName +
                                                "' are on heterogeneous devices"
                                          : ": the model ties embedding and output layer"),
                       "use vocab_over_pp=0");
    if (pins[&D::order] && pins[&D::order]->back() != 'p' && !limits.groups.empty() &&
        pins[&D::pp].value_or(1) > 1)
      return UserError("--fix axis_order: heterogeneous devices need pp as the outermost axis",
                       "use axis_order=tp-cp-dp-pp, or another with pp outermost");
    if (std::optional<DividedSize> size =
            pins[&D::tp] ? findUndivided(*pins[&D::tp], mayFoldAtAll(limits, pins), limits)
                         : std::nullopt)
      return UserError("--fix tp=" + number(*pins[&D::tp]) + " does not divide " +
                           undividedText(*size),
                       "the nearest that does is tp=" +
                           number(nearestOf(divisorsOf(size->size), *pins[&D::tp])));
    return checkZeroGroup(pins[&D::dp].value_or(devices / product));
  }

  UserError nothingLeft() const {
    int64_t tp = pins[&D::tp].value_or(1), cp = pins[&D::cp].value_or(1),
            pp = pins[&D::pp].value_or(1);
    bool cutsSequences = cp > 1 || (pins[&D::sequenceParallel] && *pins[&D::sequenceParallel] == 1);
    if (cutsSequences && limits.sequence == 0)
      return UserError(
          "--fix " + std::string(cp > 1 ? "cp=" + number(cp) : "sp=1") +
              ": no input of the model is marked as a sequence",
          "leave it out, or give the model graph.sequence_length, dim 1 of its inputs");
    if (pins[&D::sequenceParallel] && *pins[&D::sequenceParallel] == 1 &&
        limits.sequence % (tp * cp) != 0)
      return UserError("--fix sp=1 with tp=" + number(tp) +
                           ": tp does not divide the sequence length " + number(limits.sequence),
                       "use sp=0, or tp=" +
                           number(nearestOf(divisorsOf(limits.sequence / cp), tp)));
    if (cp > 1 && limits.sequence % (2 * cp) != 0)
      return UserError("--fix cp=" + number(cp) + ": a sequence of " + number(limits.sequence) +
                           " tokens can't be cut into 2 x " + number(cp) + " equal parts",
                       "each rank gets an early and a late part, so that causal attention is even");
    bool isOfV = pins[&D::schedule] && isV(*pins[&D::schedule]);
    int64_t stages = leastChunksOf(pp, pins);
    if (stages > mostChunks(limits))
      return UserError("--fix pp=" + number(pp) + "," +
                           (isOfV ? "schedule=" + toString(*pins[&D::schedule]).str()
                                  : "virtual_stages=" + number(*pins[&D::virtualStages])) +
                           " makes " + number(stages) + " chunks of a model that has " +
                           number(limits.layers) + " layers",
                       (isOfV ? "use pp=" : "use virtual_stages=") +
                           number(std::max<int64_t>(1, mostChunks(limits) / (isOfV ? 2 : pp))) +
                           " or less");
    bool allButTensor = pins[&D::dp] && pins[&D::cp] && pins[&D::pp];
    int64_t only = allButTensor ? limits.devices / (*pins[&D::dp] * cp * pp) : tp;
    if (std::optional<DividedSize> size = findUndivided(only, mayFoldAtAll(limits, pins), limits))
      return UserError("tp=" + number(only) + ", which --fix leaves, does not divide " +
                           undividedText(*size),
                       "leave dp, pp or cp to the planner");
    if (std::optional<UserError> error = noContext())
      return *error;
    int64_t dp = pins[&D::dp].value_or(limits.devices / (tp * cp * pp));
    int64_t microBatches = limits.globalBatch / dp / pins[&D::microBatch].value_or(1);
    if (limits.needsOneReplica && dp > 1)
      return UserError("dp=" + number(dp) +
                           " divides the samples, whose means the loss multiplies "
                           "(transformers' loss of uneven use of experts)",
                       "use dp=1 and more of tp or pp, or put \"moe_router_load_balancing_type\": "
                       "\"seq_aux_loss\" in the config, for the loss of each sample");
    if (pins[&D::microBatch] && limits.needsWholeBatch && microBatches > 1)
      return UserError("--fix micro_batch=" + number(*pins[&D::microBatch]) + " makes " +
                           number(microBatches) +
                           " micro-batches of a step, but batch norm needs the statistics of the "
                           "whole batch, as does transformers' loss of uneven use of experts",
                       "leave micro_batch out, so that a step has one micro-batch, or export the "
                       "model with dtc.export(..., batch_norm=\"parts\"), so that each rank and "
                       "micro-batch has statistics of its own (for experts, "
                       "\"moe_router_load_balancing_type\": \"seq_aux_loss\" in the config)");
    if (pins[&D::microBatch] && microBatches * dp * *pins[&D::microBatch] == limits.globalBatch)
      return UserError("--fix micro_batch=" + number(*pins[&D::microBatch]) + " makes " +
                           number(microBatches) +
                           " micro-batches of a step, more than dtc can compile",
                       kShorterSteps);
    if (pins[&D::microBatch] && limits.globalBatch % dp == 0)
      return UserError(
          "--fix micro_batch=" + number(*pins[&D::microBatch]) + " does not divide the " +
              number(limits.globalBatch / dp) +
              " samples of each data-parallel rank (global batch " + number(limits.globalBatch) +
              ", dp " + number(dp) + ")",
          "the nearest that does is micro_batch=" +
              number(nearestOf(divisorsOf(limits.globalBatch / dp), *pins[&D::microBatch])));
    if (std::optional<UserError> error = tooManyMicroBatches(dp, pp))
      return *error;
    if (limits.globalBatch % dp == 0)
      return UserError(
          "no mesh is left of " + number(limits.devices) + " devices" +
              (limits.experts > 1 ? " with " + number(limits.experts) + " experts" : ""),
          limits.experts > 1
              ? "without etp=1 ep divides dp x cp, with it sp is 1 and tp divides the " +
                    number(limits.tokenGroups) +
                    " groups of tokens; leave ep, etp, tp or sp to the planner"
              : "leave some of --fix to the planner");
    int64_t below = limits.globalBatch / dp * dp;
    return UserError(
        "global batch " + number(limits.globalBatch) + " can't be split over dp=" + number(dp) +
            " data-parallel ranks: it does not divide",
        "the nearest global batch that divides is " + number(std::max(dp, below)) +
            (pins[&D::dp] || pins[&D::tp] ? ", or leave dp and tp to the planner" : ""));
  }

private:
  std::optional<UserError> checkTensorOfParts() const {
    if (!pins.isUneven())
      return std::nullopt;
    std::string named = "--fix tp_of_parts=" + tensorOfPartsText(pins.decisions());
    auto parts = static_cast<size_t>(
        llvm::count_if(*pins[&D::tensorOfParts], [](int64_t ranks) { return ranks > 0; }));
    if (parts != limits.groups.size())
      return UserError(named + ": '" + limits.topologyName + "' has " +
                           (limits.groups.size() < 2
                                ? std::string("devices of one kind")
                                : number(static_cast<int64_t>(limits.groups.size())) + " parts"),
                       limits.groups.size() < 2 ? "use tp=" + number(*pins[&D::tp])
                                                : "give the ranks of each of them");
    return std::nullopt;
  }

  std::optional<UserError> checkFolding() const {
    if (!pins[&D::foldedExperts] || !*pins[&D::foldedExperts])
      return std::nullopt;
    if (limits.experts == 1)
      return UserError("--fix etp=1: the model has no experts", "leave it out");
    if (pins[&D::tp] && *pins[&D::tp] > 1 && limits.tokenGroups % *pins[&D::tp] != 0)
      return UserError("--fix etp=1,tp=" + number(*pins[&D::tp]) + " does not divide the " +
                           number(limits.tokenGroups) +
                           " groups of tokens that the model routes separately",
                       "the nearest that does is tp=" +
                           number(nearestOf(divisorsOf(limits.tokenGroups), *pins[&D::tp])));
    return std::nullopt;
  }

  // Returns an error if the pinned group does not divide `ranks`: those of data parallelism, or the
  // number that dp divides if it is open.
  std::optional<UserError> checkZeroGroup(int64_t ranks) const {
    int64_t group = pins[&D::zeroGroup].value_or(0);
    if (group == 0 || group == ranks)
      return std::nullopt;
    std::string named = "--fix zero_group=" + number(group);
    if (ranks % group != 0)
      return UserError(
          named + " does not divide the " + number(ranks) + " ranks that data parallelism may have",
          "the nearest that does is zero_group=" + number(nearestOf(divisorsOf(ranks), group)));
    if (group == 1)
      return UserError(named + ": a group of one rank splits nothing",
                       "use zero_group=2 or more, or zero=0 without it");
    if (pins[&D::zero] && *pins[&D::zero] == 0)
      return UserError(named + ": ZeRO-0 splits nothing over groups",
                       "use zero=1 or more, or leave zero_group out");
    return std::nullopt;
  }

  std::string mend(int64_t product) const {
    if (pins[&D::dp] && pins[&D::tp] && limits.devices % *pins[&D::tp] == 0 &&
        !(pins[&D::pp] && *pins[&D::pp] > 1) && !(pins[&D::cp] && *pins[&D::cp] > 1))
      return "with tp=" + number(*pins[&D::tp]) +
             " use dp=" + number(limits.devices / *pins[&D::tp]) + ", or pass --devices " +
             number(product);
    return "leave one of them to the planner, or pass --devices " + number(product);
  }

  // Returns an error if an executable can't run that many micro-batches. Assumes the largest
  // micro-batch that divides the samples of a rank.
  std::optional<UserError> tooManyMicroBatches(int64_t dp, int64_t pp) const {
    if (!limits.executable || limits.needsWholeBatch || limits.globalBatch % dp != 0)
      return std::nullopt;
    std::vector<int64_t> sizes = divisorsOf(limits.globalBatch / dp);
    llvm::erase_if(sizes, [](int64_t size) { return size > kMostSamples; });
    Decisions d;
    d.pp = pp;
    d.numMicroBatches = limits.globalBatch / dp / sizes.back();
    if (isExecutable(d) && mayRunAll(d, limits))
      return std::nullopt;
    return UserError("a global batch of " + number(limits.globalBatch) + " makes " +
                         number(d.numMicroBatches) +
                         " micro-batches of a step or more, more than dtc can compile",
                     "use a smaller --global-batch, or one that has larger divisors up to " +
                         number(kMostSamples));
  }

  // Returns the only size that pins permit for an axis; 0 if they permit several.
  int64_t sizeOf(const std::optional<int64_t> &pin,
                 std::initializer_list<std::optional<int64_t>> others) const {
    int64_t product = 1;
    for (const std::optional<int64_t> &other : others)
      product *= other.value_or(0);
    return pin ? *pin : product > 0 ? limits.devices / product : 0;
  }

  // Explains why no cp that the pins permit has a kind that they permit.
  std::optional<UserError> noContext() const {
    int64_t tp = sizeOf(pins[&D::tp], {pins[&D::dp], pins[&D::pp], pins[&D::cp]});
    int64_t cp = sizeOf(pins[&D::cp], {pins[&D::dp], pins[&D::pp], pins[&D::tp]});
    bool mayBeOne = pins[&D::contextKind].value_or(ContextKind::Ring) == ContextKind::Ring;
    if (cp <= 1 && mayBeOne)
      return std::nullopt;
    bool isLong = false; // the sequence is long enough to be cut
    Decisions d;
    d.tp = std::max<int64_t>(1, tp);
    for (int64_t size : divisorsOf(limits.devices)) {
      d.cp = size;
      if (size == 1 || (cp > 0 && size != cp) || !fitsSequence(size, limits, pins))
        continue;
      isLong = true;
      if (!contextChoices(d, limits, pins).empty())
        return std::nullopt;
    }
    std::string given = pins[&D::contextInner] ? "cp_inner=" + number(*pins[&D::contextInner])
                        : pins[&D::contextKind]
                            ? "cp_kind=" + toString(*pins[&D::contextKind]).str()
                            : "";
    if (cp > 0)
      given = "cp=" + number(cp) + (given.empty() ? "" : ",") + given;
    given = "--fix " + given;
    if (cp == 1 || limits.devices == 1)
      return UserError(given + ": a kind of context parallelism needs cp of 2 or more",
                       "use cp_kind=ring, or leave cp, or one of dp, tp and pp, to the planner");
    if (!isLong)
      return UserError(given + ": a sequence of " + number(limits.sequence) +
                           " tokens is not cut into 2 parts a rank with " +
                           number(kLeastTokensOfContext) + " tokens a rank",
                       "use cp=2 or more to cut it all the same");
    auto isThere = [&](ContextKind kind) { return mayMeet(kind, limits, pins); };
    bool swaps = isThere(ContextKind::AllToAll), hasBoth = isThere(ContextKind::Both);
    if (!swaps && !hasBoth)
      return UserError(
          given + ": the model has sliding windows, which the ring attention of the software lacks",
          "use cp=1, or another cp_kind where the software has one");
    if (!swaps && cp > 0 && divisorsOf(cp).size() == 2)
      return UserError(given + ": cp has no divisor between 1 and itself",
                       "use a cp that is a product, such as 4, or another kind");
    return UserError(given + ": the ranks of an all-to-all do not divide the " +
                         number(limits.kvHeads) + " kv heads of the model" +
                         (tp > 1 ? ", over tp=" + number(tp) + " of them" : ""),
                     "use another cp, or cp_kind=ring where the software has it");
  }

  const SpaceLimits &limits;
  const Pins &pins;
};

} // namespace

std::optional<UserError> checkMeshPins(const SpaceLimits &limits, const Pins &pins) {
  return MeshExplainer(limits, pins).checkPins();
}

UserError noMeshLeft(const SpaceLimits &limits, const Pins &pins) {
  return MeshExplainer(limits, pins).nothingLeft();
}

} // namespace dtc

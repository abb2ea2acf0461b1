// Writes the errors of pins of a mesh, and of spaces without meshes.
#include "compiler/search/planner/MeshErrors.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/search/planner/ContextChoices.h"
#include "compiler/search/planner/Divisors.h"
#include "compiler/search/planner/ExpertChoices.h"
#include "compiler/search/planner/LossChoices.h"
#include "compiler/search/planner/MeshRules.h"
#include "compiler/search/planner/VocabularyChoices.h"
#include "compiler/search/planner/ZeroGroups.h"

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
    if (std::optional<UserError> error = findFoldingError(limits, pins))
      return error;
    if (std::optional<UserError> error = findRoomError(limits, pins))
      return error;
    if (std::optional<UserError> error = checkTensorOfParts())
      return error;
    if (std::optional<UserError> error = findVocabularyError(limits, pins))
      return error;
    if (std::optional<UserError> error = findLossError(limits, pins))
      return error;
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
    return findGroupError(pins[&D::dp].value_or(devices / product), pins);
  }

  UserError nothingLeft() const {
    int64_t tp = pins[&D::tp].value_or(1), cp = pins[&D::cp].value_or(1),
            pp = pins[&D::pp].value_or(1);
    if (limits.needsOneStage && pp > 1)
      return UserError("--fix pp=" + number(pp) +
                           " cuts the layers, but dtc compiles transformers' loss of uneven use "
                           "of experts, which is of all layers together, on one stage alone",
                       "use pp=1, or put \"moe_router_load_balancing_type\": \"seq_aux_loss\" in "
                       "the config");
    if (limits.executable && cp > 1 && limits.experts > 1)
      return UserError("--fix cp=" + number(cp) +
                           " cuts the sequences of a model with experts, which dtc can't compile "
                           "yet",
                       "use cp=1, or plan without --executable to see what others cost");
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
    if (cp > 1 && limits.executable && limits.sequence % (2 * cp * tp) != 0)
      return UserError("--fix cp=" + number(cp) + ",tp=" + number(tp) + ": the " +
                           number(limits.sequence / (2 * cp)) +
                           " tokens of a part of a sequence can't be cut into " + number(tp) +
                           " equal parts",
                       "use tp=" + number(nearestOf(divisorsOf(limits.sequence / (2 * cp)), tp)));
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
    if (pins[&D::microBatch] && limits.needsWholeBatch && microBatches > 1)
      return UserError(
          "--fix micro_batch=" + number(*pins[&D::microBatch]) + " makes " + number(microBatches) +
              " micro-batches of a step, but batch norm needs the statistics of the "
              "whole batch, as do transformers' loss of uneven use of experts and state "
              "that takes a maximum or another function of it",
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
    return findContextError(sizeOf(pins[&D::tp], {pins[&D::dp], pins[&D::pp], pins[&D::cp]}),
                            sizeOf(pins[&D::cp], {pins[&D::dp], pins[&D::pp], pins[&D::tp]}),
                            limits, pins);
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

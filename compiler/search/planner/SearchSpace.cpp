// Enumerates everything that the planner may choose.
#include "compiler/search/planner/SearchSpace.h"

#include "compiler/decide/decisions/Pipeline.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/plan/Executable.h"
#include "compiler/price/estimate/PartOrders.h"
#include "compiler/price/estimate/StageSplit.h"
#include "compiler/search/planner/MemoryChoices.h"
#include "compiler/search/planner/TensorChoices.h"
#include "compiler/search/planner/ZeroGroups.h"
#include "runtime/format/Limits.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

namespace dtc {

using D = Decisions;
namespace {

// Larger micro-batches change nothing but memory, as matrix products are large enough by then.
constexpr int64_t kMostSamples = 32;
// A rank keeps at least this many tokens of a sequence: shorter parts are all communication.
constexpr int64_t kLeastTokensOfContext = 512;
constexpr int64_t kMostVirtualStages = 12;

std::string number(int64_t value) { return std::to_string(value); }

std::vector<int64_t> divisorsOf(int64_t value) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= value; ++d)
    if (value % d == 0) {
      divisors.push_back(d);
      if (d * d != value)
        divisors.push_back(value / d);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

int64_t nearestOf(const std::vector<int64_t> &choices, int64_t value) {
  return *std::min_element(choices.begin(), choices.end(), [&](int64_t a, int64_t b) {
    return std::llabs(a - value) < std::llabs(b - value);
  });
}

bool allows(const std::optional<int64_t> &pin, int64_t value) { return !pin || *pin == value; }

// A size of the model that tp has to divide in the software.
struct DividedSize {
  int64_t size;
  const char *what; // "kv heads"
  const char *why;
};

// Returns the first size that the software needs tp to divide and that it does not; nullopt if
// there is none. With `folds`, experts are whole on ranks of tensor parallelism.
std::optional<DividedSize> findUndivided(int64_t tp, bool folds, const SpaceLimits &limits) {
  if (!limits.space)
    return std::nullopt;
  const LegalSpace &space = *limits.space;
  auto isUndivided = [&](int64_t size, bool mayBe) { return !mayBe && size > 0 && size % tp != 0; };
  if (isUndivided(limits.kvHeads, space.splitsKvHeads))
    return DividedSize{limits.kvHeads, "kv heads", "the stack has no kv head on several ranks"};
  if (isUndivided(limits.heads, space.unevenHeads))
    return DividedSize{limits.heads, "attention heads", "the stack has whole heads on each rank"};
  // Ranks share a kv head in equal numbers.
  if (!space.unevenHeads && limits.kvHeads > 0 && limits.kvHeads % tp != 0 &&
      tp % limits.kvHeads != 0)
    return DividedSize{limits.kvHeads, "kv heads", "ranks that share them have to be a multiple"};
  if (isUndivided(limits.inner, space.unevenInner || folds))
    return DividedSize{limits.inner, "columns of the feed-forward layers",
                       "the stack cuts weights in equal parts"};
  if (isUndivided(limits.vocabulary, space.unevenVocabulary))
    return DividedSize{limits.vocabulary, "rows of the vocabulary",
                       "the stack cuts tables in equal parts"};
  return std::nullopt;
}

// Returns text such as "the 25 attention heads of the model, and the stack has whole heads on each
// rank".
std::string undividedText(const DividedSize &size) {
  return "the " + number(size.size) + " " + size.what + " of the model, and " + size.why;
}

// Returns true if pins, software and the model's windows permit the kind for several ranks of
// context parallelism.
bool mayMeet(ContextKind kind, const SpaceLimits &limits, const Pins &pins) {
  if (pins[&D::contextKind].value_or(kind) != kind)
    return false;
  return !limits.space || (limits.space->contextKinds >> static_cast<int>(kind) & 1 &&
                           (!hasRing(kind) || !limits.slides || limits.space->slidesInRings));
}

// Returns true if an executable may run all micro-batches through the layers of the largest stage.
bool mayRunAll(const Decisions &d, const SpaceLimits &limits) {
  int64_t ofStage = llvm::divideCeilSigned(limits.layers, d.pp) * limits.instructionsOfLayer;
  return ofStage == 0 || d.numMicroBatches <= static_cast<int64_t>(format::maxExecuted) / ofStage;
}

bool isAllowedMesh(const Decisions &d, const SpaceLimits &limits) {
  return (!limits.needsWholeBatch || d.numMicroBatches == 1) &&
         (!limits.executable || (isExecutable(d) && mayRunAll(d, limits))) &&
         !findUndivided(d.tp, d.foldedExperts, limits) &&
         (!limits.space || (isLegalMesh(d, *limits.space) &&
                            (!limits.space->expertsWantSequence || limits.experts == 1 ||
                             d.tp == 1 || d.sequenceParallel)));
}

// Megatron's order comes first, so that it wins ties.
constexpr AxisOrder kOrders[] = {kMegatronOrder,       {'t', 'c', 'p', 'd'}, {'t', 'd', 'c', 'p'},
                                 {'t', 'p', 'c', 'd'}, {'c', 't', 'd', 'p'}, {'d', 't', 'c', 'p'},
                                 {'p', 't', 'c', 'd'}};

class Enumerator {
public:
  Enumerator(const SpaceLimits &limits, const Pins &pins) : limits(limits), pins(pins) {}

  Result<std::vector<Decisions>> run() {
    if (std::optional<UserError> error = checkPins())
      return *error;
    int64_t devices = limits.devices;
    for (int64_t tp : divisorsOf(devices))
      for (int64_t pp : divisorsOf(devices / tp))
        for (int64_t cp : divisorsOf(devices / tp / pp))
          addMesh(tp, pp, cp, devices / tp / pp / cp);
    if (meshes.empty())
      return nothingLeft();
    return std::move(meshes);
  }

private:
  // A single stage has no V schedule.
  int64_t chunksOf(int64_t pp) const {
    return pp * pins[&D::virtualStages].value_or(pp > 1 ? pins.decisions().virtualStages : 1);
  }

  // Returns true if `cp` ranks may share a sequence.
  bool fitsSequence(int64_t cp) const {
    return cp == 1 || (limits.sequence > 0 && limits.sequence % (2 * cp) == 0 &&
                       (pins[&D::cp] || limits.sequence / cp >= kLeastTokensOfContext));
  }

  void addMesh(int64_t tp, int64_t pp, int64_t cp, int64_t dp) {
    int64_t stages = chunksOf(pp);
    bool useful = stages <= mostChunks(limits);
    if (!allows(pins[&D::tp], tp) || !allows(pins[&D::pp], pp) || !allows(pins[&D::cp], cp) ||
        !allows(pins[&D::dp], dp) || !useful || !fitsSequence(cp) || limits.globalBatch % dp != 0)
      return;
    Decisions d;
    d.tp = tp;
    d.pp = pp;
    d.cp = cp;
    d.dp = dp;
    d.evenRecompute = limits.space && limits.space->evenRecompute;
    d.evenStages = pp > 1 && limits.space && !limits.space->unevenStages;
    for (bool folds : {false, true}) {
      d.foldedExperts = folds;
      if (!folds || mayFold(d))
        addExperts(d);
    }
  }

  void addExperts(Decisions d) {
    bool isChoice = d.tp > 1 && limits.experts > 1;
    bool maySplit = !limits.space || limits.space->expertsBesideTensor;
    if (isChoice && (pins[&D::foldedExperts].value_or(d.foldedExperts) != d.foldedExperts ||
                     (!d.foldedExperts && !maySplit)))
      return;
    for (int64_t ep : divisorsOf(d.ranksOfExperts())) {
      bool fits = ep == 1 || (limits.experts > 1 && limits.experts % ep == 0);
      d.ep = ep;
      if (fits && allows(pins[&D::ep], ep) && (!limits.executable || isExecutable(d)))
        addBatches(d);
    }
  }

  // Returns true if experts may be whole on the ranks of tensor parallelism, each with token groups
  // of its own.
  bool mayFold(const Decisions &d) const {
    return d.tp > 1 && limits.experts > 1 && limits.tokenGroups % d.tp == 0 &&
           pins[&D::sequenceParallel].value_or(1) == 1;
  }

  // Returns true if pins and the model permit experts that are whole on ranks of tensor
  // parallelism.
  bool mayFoldAtAll() const { return limits.experts > 1 && pins[&D::foldedExperts].value_or(true); }

  void addBatches(Decisions d) {
    int64_t samples = limits.globalBatch / d.dp;
    for (int64_t microBatch : divisorsOf(samples)) {
      bool isWanted = pins[&D::microBatch]     ? microBatch == *pins[&D::microBatch]
                      : limits.needsWholeBatch ? microBatch == samples
                                               : microBatch <= kMostSamples;
      if (!isWanted)
        continue;
      d.microBatch = microBatch;
      d.numMicroBatches = samples / microBatch;
      for (int64_t sp : {0, 1}) {
        bool possible = sp == 0 || (limits.sequence > 0 && limits.sequence % (d.tp * d.cp) == 0 &&
                                    (d.tp > 1 || pins[&D::sequenceParallel]));
        if (!possible || !allows(pins[&D::sequenceParallel], sp) || (d.foldedExperts && sp == 0))
          continue;
        d.sequenceParallel = sp != 0;
        addOrders(d);
      }
    }
  }

  // Adds the orders of the axes that have more than one rank; others make no difference.
  void addOrders(Decisions d) {
    std::set<std::string> seen;
    std::optional<AxisOrder> pinned = pins[&D::order];
    const auto all =
        pinned ? llvm::ArrayRef<AxisOrder>(*pinned) : llvm::ArrayRef<AxisOrder>(kOrders);
    for (AxisOrder order : all) {
      std::string key;
      for (char axis : order) {
        if (d.sizeOf(axis) > 1)
          key += axis;
      }
      if (!seen.insert(key).second)
        continue;
      d.order = order;
      bool isUneven = !limits.groups.empty() && d.pp > 1;
      if (isUneven && order.back() != 'p')
        continue;
      size_t partOrders = isUneven ? dtc::partOrders(limits.groups, d.devices() / d.pp).size() : 1;
      for (size_t partOrder = 0; partOrder < partOrders; ++partOrder) {
        d.partOrder = static_cast<int>(partOrder);
        for (const TensorOfParts &tensor :
             isUneven ? tensorChoices(d, limits, pins) : std::vector<TensorOfParts>(1)) {
          d.tensorOfParts = tensor;
          addContexts(d);
        }
      }
      d.partOrder = 0;
      d.tensorOfParts = {};
    }
  }

  void addContexts(Decisions d) {
    for (const ContextChoice &choice : contextChoices(d, limits, pins)) {
      d.contextKind = choice.kind;
      d.contextInner = choice.inner;
      if (isAllowedMesh(d, limits))
        meshes.push_back(d);
    }
  }

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
            pins[&D::tp] ? findUndivided(*pins[&D::tp], mayFoldAtAll(), limits) : std::nullopt)
      return UserError("--fix tp=" + number(*pins[&D::tp]) + " does not divide " +
                           undividedText(*size),
                       "the nearest that does is tp=" +
                           number(nearestOf(divisorsOf(size->size), *pins[&D::tp])));
    return checkZeroGroup(pins[&D::dp].value_or(devices / product));
  }

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
    int64_t stages = chunksOf(pp);
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
    if (std::optional<DividedSize> size = findUndivided(only, mayFoldAtAll(), limits))
      return UserError("tp=" + number(only) + ", which --fix leaves, does not divide " +
                           undividedText(*size),
                       "leave dp, pp or cp to the planner");
    if (std::optional<UserError> error = noContext())
      return *error;
    int64_t dp = pins[&D::dp].value_or(limits.devices / (tp * cp * pp));
    int64_t microBatches = limits.globalBatch / dp / pins[&D::microBatch].value_or(1);
    if (pins[&D::microBatch] && limits.needsWholeBatch && microBatches > 1)
      return UserError("--fix micro_batch=" + number(*pins[&D::microBatch]) + " makes " +
                           number(microBatches) +
                           " micro-batches of a step, but batch norm needs the statistics of the "
                           "whole batch",
                       "leave micro_batch out, so that a step has one micro-batch, or export the "
                       "model with dtc.export(..., batch_norm=\"parts\"), so that each rank and "
                       "micro-batch has statistics of its own");
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
      if (size == 1 || (cp > 0 && size != cp) || !fitsSequence(size))
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
  std::vector<Decisions> meshes;
};

// Adds the schedules and virtual stages that suit a number of stages.
void addSchedules(const Decisions &mesh, const SpaceLimits &limits, const Pins &pins,
                  std::vector<Decisions> &out) {
  auto add = [&](ScheduleKind kind, int64_t v) {
    if (!pins.allows(kind) || !allows(pins[&D::virtualStages], v))
      return;
    Decisions d = mesh;
    d.schedule = kind;
    d.virtualStages = v;
    out.push_back(d);
  };
  if (mesh.pp == 1) { // all schedules are the same, and none is a V
    Decisions d = mesh;
    d.schedule = pins[&D::schedule].value_or(d.schedule);
    if (allows(pins[&D::virtualStages], 1) && !isV(d.schedule))
      out.push_back(d);
    return;
  }
  add(ScheduleKind::OneForwardOneBackward, 1);
  add(ScheduleKind::GPipe, 1);
  add(ScheduleKind::ZeroBubbleH1, 1);
  add(ScheduleKind::ZeroBubble2P, 1);
  for (int64_t v = 2; v <= kMostVirtualStages && mesh.pp * v <= mostChunks(limits); ++v)
    add(ScheduleKind::Interleaved, v);
  if (pins[&D::schedule] && *pins[&D::schedule] == ScheduleKind::Interleaved)
    add(ScheduleKind::Interleaved, 1);
  if (mesh.pp * 2 <= mostChunks(limits))
    for (ScheduleKind v : {ScheduleKind::ZeroBubbleV, ScheduleKind::VHalf, ScheduleKind::VMin})
      add(v, 2);
}

} // namespace

bool isAllowed(const Decisions &d, const SpaceLimits &limits) {
  return (!limits.executable || isExecutable(d)) &&
         (!limits.space || isLegal(d, *limits.space, limits.layers));
}

int64_t mostChunks(const SpaceLimits &limits) {
  bool isEven = limits.space && !limits.space->unevenStages;
  return isEven ? std::max<int64_t>(1, limits.layers) : mostChunksOf(limits.layers);
}

llvm::SmallVector<int64_t, 3> vocabularyChoices(Decisions d, const SpaceLimits &limits,
                                                const Pins &pins) {
  llvm::SmallVector<int64_t, 3> choices;
  for (d.vocabOverPp = 0; d.vocabOverPp <= 2; ++d.vocabOverPp) {
    // On heterogeneous devices, equal shares would take different times.
    bool isThere = d.vocabOverPp == 0 ||
                   (limits.untied && limits.groups.empty() && mayDivideVocabulary(d) &&
                    (!limits.space || limits.space->vocabOverPp >> (d.vocabOverPp - 1) & 1));
    if (isThere && allows(pins[&D::vocabOverPp], d.vocabOverPp))
      choices.push_back(d.vocabOverPp);
  }
  return choices;
}

std::vector<ContextChoice> contextChoices(Decisions mesh, const SpaceLimits &limits,
                                          const Pins &pins) {
  std::vector<ContextChoice> choices;
  if (mesh.cp == 1) { // no context parallelism: plans have a fixed kind then
    if (pins[&D::contextKind].value_or(ContextKind::Ring) == ContextKind::Ring)
      choices.push_back({ContextKind::Ring});
    return choices;
  }
  // Heads of keys and values per rank.
  int64_t heads = limits.kvHeads % mesh.tp == 0 ? limits.kvHeads / mesh.tp : 0;
  auto add = [&](ContextKind kind, int64_t inner) {
    mesh.contextKind = kind;
    mesh.contextInner = inner;
    int64_t ranks = mesh.headRanks();
    bool isThere = ranks == 1 || (heads > 0 && heads % ranks == 0);
    if (isThere && mayMeet(kind, limits, pins) && allows(pins[&D::contextInner], inner))
      choices.push_back({kind, inner});
  };
  add(ContextKind::Ring, 1);
  add(ContextKind::AllToAll, 1);
  for (int64_t inner : divisorsOf(mesh.cp))
    if (inner > 1 && inner < mesh.cp)
      add(ContextKind::Both, inner);
  add(ContextKind::AllGather, 1);
  return choices;
}

Result<std::vector<Decisions>> enumerateMeshes(const SpaceLimits &limits, const Pins &pins) {
  return Enumerator(limits, pins).run();
}

// Returns the lowest ZeRO stage to try. ZeRO splits nothing if ranks have no copies, but software
// may require a stage.
static int64_t leastZero(Decisions d, const SpaceLimits &limits, bool offload) {
  d.offloadOptimizer = offload;
  for (d.zero = 0; d.zero < 3; ++d.zero)
    if (!limits.space || isLegalZero(d, *limits.space))
      return d.zero;
  return 0;
}

// Returns true if software with buckets of its own sends gradients at the time that a pin asks for.
static bool overlapsAs(const Pins &pins, const Decisions &d, const SpaceLimits &limits) {
  if (!pins[&D::overlapGradients] || !limits.space || limits.choosesBuckets || !d.hasReplicas())
    return true;
  return limits.space->reducesLast(d.pp > 1, d.zero) == !*pins[&D::overlapGradients];
}

std::vector<Decisions> enumerateDetails(const Decisions &mesh, const SpaceLimits &limits,
                                        const Pins &pins) {
  std::vector<Decisions> schedules, all;
  addSchedules(mesh, limits, pins, schedules);
  std::vector<RecomputeChoice> recomputes = recomputeChoices(mesh, limits, pins);
  for (const Decisions &schedule : schedules)
    for (int64_t zero = 0; zero <= 3; ++zero) {
      auto isUseful = [&](bool offload) {
        return mesh.hasReplicas() || pins[&D::zero] || zero == leastZero(mesh, limits, offload);
      };
      if (!allows(pins[&D::zero], zero) || !(isUseful(false) || isUseful(true)))
        continue;
      int64_t group =
          pins[&D::zeroGroup].value_or(0) == mesh.dp ? 0 : pins[&D::zeroGroup].value_or(0);
      if (group > 0 && (zero == 0 || !mayShare(mesh, group)))
        continue;
      for (const RecomputeChoice &choice : recomputes) {
        Decisions d = schedule;
        d.zero = zero;
        d.zeroGroup = group;
        if (!overlapsAs(pins, d, limits))
          continue;
        d.recompute = choice.least;
        d.recomputeMost = choice.most;
        for (int64_t algorithm : vocabularyChoices(d, limits, pins))
          for (LayersOnHost layers : hostChoices(d, limits, pins))
            for (bool offload : {false, true}) {
              Decisions each = withOnHost(d, layers);
              each.vocabOverPp = algorithm;
              each.offloadOptimizer = offload;
              bool isChoice = pins[&D::offloadOptimizer] ? offload == *pins[&D::offloadOptimizer]
                                                         : !offload || limits.mayOffload;
              if (isChoice && isUseful(offload) && isAllowed(each, limits))
                all.push_back(each);
            }
      }
    }
  return all;
}

std::vector<Decisions> expertTemplates(const SpaceLimits &limits, const Pins &pins,
                                       int64_t devicesPerNode) {
  std::vector<Decisions> templates;
  Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, pins);
  if (!meshes)
    return templates;
  for (const Decisions &mesh : *meshes) {
    bool megatron = mesh.order == kMegatronOrder && mesh.tp <= devicesPerNode && mesh.cp == 1 &&
                    mesh.microBatch <= 2 && (mesh.tp == 1 || mesh.sequenceParallel) &&
                    (mesh.pp == 1 || mesh.tp == devicesPerNode || mesh.tp == 1);
    bool fsdp = mesh.tp == 1 && mesh.pp == 1 && mesh.cp == 1;
    if (!megatron && !fsdp)
      continue;
    for (const Decisions &d : enumerateDetails(mesh, limits, pins)) {
      bool usual = d.schedule == ScheduleKind::OneForwardOneBackward ||
                   d.schedule == ScheduleKind::Interleaved;
      bool onDevice = (!d.offloadOptimizer || pins[&D::offloadOptimizer]) &&
                      (d.layersOnHost != LayersOnHost::All || pins[&D::layersOnHost]);
      if (usual && onDevice && ((megatron && d.zero == 1) || (fsdp && d.zero == 3)))
        templates.push_back(d);
    }
  }
  return templates;
}

} // namespace dtc

// Reads the pairs of --fix.
#include "compiler/planner/Pins.h"

#include "compiler/plan/DecisionNames.h"
#include "compiler/plan/Executable.h"
#include "compiler/support/Hints.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace dtc {
namespace {

// Upper limits of sizes; larger values are typing errors.
constexpr int64_t kMost = 1 << 20, kMostSamples = 1 << 30;

constexpr PinKey kKeys[] = {
    {"dp", "ranks of data parallelism", &Pins::dp, 1, kMost},
    {"tp", "ranks of tensor parallelism", &Pins::tp, 1, kMost},
    {"tp_of_parts",
     "ranks of tensor parallelism on each part of a heterogeneous system; tp is the largest of "
     "them, and dp and micro_batch are those of the stages with that tp",
     nullptr, 0, 0, "even, or one number per part, such as 1-8"},
    {"pp", "stages of the pipeline", &Pins::pp, 1, kMost},
    {"cp", "ranks of context parallelism", &Pins::cp, 1, kMost},
    {"cp_kind",
     "kind of context parallelism: ring attention, all-to-all of heads, both (all-to-all in "
     "groups, a ring over the groups), or all-gathered keys",
     nullptr, 0, 0, "ring, all-to-all, both or all-gather"},
    {"cp_inner", "ranks of cp in each all-to-all group, with cp_kind=both", &Pins::contextInner, 2,
     kMost},
    {"ep", "ranks of expert parallelism, inside dp and cp, and tp with etp=1", &Pins::ep, 1, kMost},
    {"etp", "ranks of tensor parallelism that split an expert; 1 folds experts over tp", nullptr, 0,
     0, "1 or tp"},
    {"zero",
     "ZeRO: ranks of dp split optimizer states with 1, gradients as well with 2, parameters as "
     "well with 3",
     &Pins::zero, 0, 3},
    {"zero_group", "ranks of dp that ZeRO splits over (HSDP); 0: all of them", &Pins::zeroGroup, 0,
     kMost},
    {"sp", "sequence parallelism between the regions that tp splits", &Pins::sp, 0, 1},
    {"micro_batch", "samples of a micro-batch on each data-parallel rank", &Pins::microBatch, 1,
     kMostSamples},
    {"schedule", "pipeline schedule; zero-bubble is H1 with 1 virtual stage and zb-v with 2",
     nullptr, 0, 0, "gpipe, 1f1b, interleaved, zero-bubble, zb-v, zb-2p, v-half or v-min"},
    {"virtual_stages", "chunks of the model on each stage", &Pins::virtualStages, 1, kMost},
    {"vocab_over_pp",
     "vocabulary parallelism: the algorithm by which all stages share embedding and output layer; "
     "0: these are on the first and the last stage",
     &Pins::vocabOverPp, 0, 2},
    {"recompute", "what all layers recompute in the backward pass", nullptr, 0, 0,
     "none, selective, selective+attention, selective+linear, selective+attention+linear, "
     "selective+experts, "
     "selective+attention+experts, selective+linear+experts, selective+attention+linear+experts or "
     "full"},
    {"overlap", "reductions of gradients overlap with the backward pass", &Pins::overlap, 0, 1},
    {"bucket_mib", "MiB of a gradient bucket", &Pins::bucketMebibytes, 1, kMost},
    {"offload", "optimizer states in the host's memory", &Pins::offload, 0, 1},
    {"offload_activations",
     "saved activations wait in the host's memory for the backward pass: of all layers, or of none",
     &Pins::offloadActivations, 0, 1},
    {"placement", "tensor parallelism in Megatron's pattern, or as a search over all ops finds it",
     nullptr, 0, 0, "megatron or searched"},
    {"axis_order", "order of the mesh axes on the links, innermost first", nullptr, 0, 0,
     "tp, cp, dp and pp in some order: tp-cp-dp-pp"},
};

std::string allNames() {
  std::string list;
  for (const PinKey &key : kKeys)
    list += (list.empty() ? "" : ", ") + key.name.str();
  return list;
}

// Returns the key's values that stand alone: "gpipe", "1f1b". Empty for values of another form.
llvm::SmallVector<llvm::StringRef> choicesOf(const PinKey &key) {
  llvm::SmallVector<llvm::StringRef> parts, choices;
  if (key.words.contains(':')) // a form and an example of it
    return choices;
  key.words.split(parts, ", ");
  for (llvm::StringRef part : parts)
    for (auto [word, rest] = part.split(" or "); !word.empty();
         std::tie(word, rest) = rest.split(" or "))
      if (!word.contains(' '))
        choices.push_back(word);
  return choices;
}

std::string given(const std::string &name, const std::string &text) {
  return "--fix " + name + "=" + text;
}

std::optional<UserError> readTensorOfParts(const std::string &text, Pins &pins) {
  TensorOfParts ranks{};
  llvm::SmallVector<llvm::StringRef, 4> words;
  llvm::StringRef(text).split(words, '-');
  bool isGood = text == "even" || (words.size() > 1 && words.size() <= ranks.size());
  int64_t most = 0;
  for (size_t part = 0; isGood && text != "even" && part < words.size(); ++part) {
    int64_t value = 0;
    isGood = !words[part].getAsInteger(10, value) && value >= 1 && value <= kMostTensorOfPart;
    ranks[part] = static_cast<int16_t>(value);
    most = std::max(most, value);
  }
  isGood &= llvm::all_of(ranks, [&](int64_t each) { return each == 0 || most % each == 0; });
  if (!isGood)
    return UserError(given("tp_of_parts", text) + ": not a list of tensor-parallel ranks by part",
                     "use even, or one number for each of 2 to " + std::to_string(ranks.size()) +
                         " parts, each a divisor of the largest, such as 1-8");
  bool isEven = llvm::all_of(ranks, [&](int64_t each) { return each == 0 || each == most; });
  if (isEven && most > 0)
    return UserError(given("tp_of_parts", text) + ": all parts have the same tensor parallelism",
                     "use tp=" + std::to_string(most) + ",tp_of_parts=even");
  pins.tensorOfParts = ranks;
  return std::nullopt;
}

std::optional<UserError> checkTensorOfParts(const Pins &pins) {
  if (!pins.isUneven())
    return std::nullopt;
  std::string text = "tp_of_parts=" + tensorOfPartsText(pins.decisions());
  int64_t most = *llvm::max_element(*pins.tensorOfParts);
  if (pins.tp && *pins.tp != most)
    return UserError("--fix " + text + ",tp=" + std::to_string(*pins.tp) +
                         ": tp has to be the largest of tp_of_parts",
                     "use tp=" + std::to_string(most) + ", or leave it out");
  auto refuse = [&](const std::string &other, const std::string &why, const std::string &hint) {
    return UserError("--fix " + text + "," + other + ": " + why, "use " + hint);
  };
  if (pins.pp == 1)
    return refuse("pp=1", "each part needs pipeline stages of its own", "pp=2 or more");
  if (pins.searchedPlacements.value_or(false))
    return refuse("placement=searched", "searched placements need the same tp on all parts",
                  "placement=megatron");
  if (pins.zeroGroup.value_or(0) > 0)
    return refuse("zero_group=" + std::to_string(*pins.zeroGroup),
                  "parts have different numbers of ranks of dp", "zero_group=0");
  return std::nullopt;
}

std::optional<UserError> readWord(const std::string &name, const std::string &text, Pins &pins) {
  if (name == "schedule") {
    Result<ScheduleKind> kind = scheduleFromPlan(text, 1);
    if (!kind) // a V has two virtual stages
      if (Result<ScheduleKind> v = scheduleFromPlan(text, 2))
        kind = v;
    if (!kind)
      return UserError(given(name, text) + ": " + kind.error().message, kind.error().note);
    pins.schedule = *kind;
    return std::nullopt;
  }
  if (name == "placement") {
    if (text != "searched" && text != "megatron")
      return UserError(given(name, text) + ": there is no such choice of placements",
                       "choices are megatron (weights split, Megatron's pattern) and searched");
    pins.searchedPlacements = text == "searched";
    return std::nullopt;
  }
  if (name == "axis_order") {
    // Values contain no blanks, so axes are joined by '-'.
    std::string words = text;
    std::replace(words.begin(), words.end(), '-', ' ');
    pins.order = orderFrom(words);
    if (pins.order)
      return std::nullopt;
    return UserError(given(name, text) + ": there is no such order of axes",
                     "give tp, cp, dp and pp from the innermost links out, as tp-cp-pp-dp");
  }
  if (name == "tp_of_parts")
    return readTensorOfParts(text, pins);
  if (name == "etp") {
    if (text != "1" && text != "tp")
      return UserError(given(name, text) +
                           ": an expert is whole (1) or split over all ranks of tp (tp)",
                       "choices are 1 and tp");
    pins.foldedExperts = text == "1";
    return std::nullopt;
  }
  if (name == "cp_kind") {
    pins.contextKind = contextKindFrom(text);
    if (pins.contextKind)
      return std::nullopt;
    return UserError(given(name, text) + ": there is no such kind of context parallelism",
                     "choices are ring, all-to-all, both and all-gather");
  }
  pins.recompute = recomputeFrom(text);
  if (pins.recompute)
    return std::nullopt;
  return UserError(given(name, text) + ": there is no such recomputation",
                   "choices are " + listOfRecomputes());
}

std::optional<UserError> checkContext(const Pins &pins) {
  std::string text = pins.contextKind ? "cp_kind=" + toString(*pins.contextKind).str() : "";
  if (pins.contextInner) {
    std::string inner = "cp_inner=" + std::to_string(*pins.contextInner);
    if (pins.contextKind && *pins.contextKind != ContextKind::Both)
      return UserError("--fix " + text + "," + inner + ": cp_inner needs cp_kind=both",
                       "use cp_kind=both, or leave cp_inner out");
    if (pins.cp && (*pins.cp % *pins.contextInner != 0 || *pins.cp <= *pins.contextInner))
      return UserError("--fix cp=" + std::to_string(*pins.cp) + "," + inner +
                           ": cp_kind=both needs a cp_inner that divides cp and is less than it",
                       "use another cp_inner or cp, or leave cp_inner out");
    text = inner;
  }
  if (!text.empty() && pins.cp == 1)
    return UserError("--fix cp=1," + text + ": a kind of context parallelism needs cp of 2 or more",
                     "use cp=2 or more, or leave " + text.substr(0, text.find('=')) + " out");
  return std::nullopt;
}

// Returns an error for pins that leave no room for vocabulary passes.
std::optional<UserError> checkVocabulary(const Pins &pins) {
  if (pins.vocabOverPp.value_or(0) == 0)
    return std::nullopt;
  std::string text = "--fix vocab_over_pp=" + std::to_string(*pins.vocabOverPp);
  if (pins.pp == 1)
    return UserError(text + ",pp=1: vocabulary parallelism needs pipeline stages",
                     "use pp=2 or more, or vocab_over_pp=0");
  Decisions d = pins.decisions();
  d.pp = 2;
  d.zero = 0;
  if (!mayDivideVocabulary(d))
    return UserError(text + ",schedule=" + toString(d.schedule).str() +
                         ": vocabulary parallelism needs schedule 1f1b or v-half",
                     "use schedule=1f1b or v-half, or vocab_over_pp=0");
  if (pins.zero.value_or(0) > 1)
    return UserError(text + ",zero=" + std::to_string(*pins.zero) +
                         ": vocabulary parallelism needs zero=0 or zero=1",
                     "use zero=0 or zero=1, or vocab_over_pp=0");
  return std::nullopt;
}

std::optional<UserError> checkVirtualStages(const Pins &pins) {
  int64_t stages = pins.virtualStages.value_or(1);
  std::string text = ",virtual_stages=" + std::to_string(stages);
  if (stages > 1 && pins.pp == 1)
    return UserError("--fix pp=1" + text + ": virtual stages need a pipeline",
                     "use pp=2 or more, or virtual_stages=1");
  if (!pins.schedule)
    return std::nullopt;
  std::string schedule = toString(*pins.schedule).str();
  if (isV(*pins.schedule) && pins.pp == 1)
    return UserError("--fix pp=1,schedule=" + schedule + ": virtual stages need a pipeline",
                     "use pp=2 or more, or schedule=1f1b");
  if (pins.virtualStages && stages == 1 && isV(*pins.schedule))
    return UserError("--fix schedule=" + schedule + text + ": " + schedule +
                         " has 2 virtual stages",
                     "use virtual_stages=2, or schedule=zb-2p");
  int64_t most = schedule == "zero-bubble" ? 2 : virtualStagesOf(*pins.schedule).value_or(stages);
  if (stages > most)
    return UserError("--fix schedule=" + schedule + text + ": " + schedule + " has at most " +
                         std::to_string(most) + " virtual stage" + (most == 1 ? "" : "s"),
                     "use virtual_stages=" + std::to_string(most) + ", or schedule=interleaved");
  return std::nullopt;
}

} // namespace

Decisions Pins::decisions() const {
  Decisions d;
  d.dp = dp.value_or(d.dp);
  d.tp = tp.value_or(d.tp);
  d.pp = pp.value_or(d.pp);
  d.cp = cp.value_or(d.cp);
  d.ep = ep.value_or(d.ep);
  d.contextKind = contextKind.value_or(d.contextKind);
  d.contextInner = contextInner.value_or(d.contextInner);
  d.sequenceParallel = sp.value_or(d.sequenceParallel);
  d.zero = zero.value_or(d.zero);
  d.zeroGroup = zeroGroup.value_or(d.zeroGroup);
  d.microBatch = microBatch.value_or(d.microBatch);
  d.schedule = schedule.value_or(d.schedule);
  d.virtualStages = virtualStages.value_or(isV(d.schedule) ? 2 : 1);
  d.vocabOverPp = vocabOverPp.value_or(d.vocabOverPp);
  d.recompute = d.recomputeMost = recompute.value_or(d.recompute);
  d.offloadOptimizer = offload.value_or(d.offloadOptimizer);
  if (offloadActivations.value_or(0) > 0)
    d.layersOnHost = LayersOnHost::All;
  d.order = order.value_or(d.order);
  d.foldedExperts = foldedExperts.value_or(false) && d.tp > 1;
  d.tensorOfParts = tensorOfParts.value_or(d.tensorOfParts);
  return d;
}

bool Pins::beyondExecutable() const { return !isExecutable(decisions()); }

bool Pins::allows(ScheduleKind kind) const {
  bool isZeroBubble =
      schedule == ScheduleKind::ZeroBubbleH1; // with either number of virtual stages
  return !schedule || *schedule == kind || (isZeroBubble && kind == ScheduleKind::ZeroBubbleV);
}

std::string PinKey::values() const {
  if (!number)
    return words.str();
  if (high >= kMost)
    return std::to_string(low) + " or more";
  return std::to_string(low) + (high == low + 1 ? " or " : " to ") + std::to_string(high);
}

llvm::ArrayRef<PinKey> pinKeys() { return kKeys; }

std::string pinKeysText() {
  std::string text;
  for (const PinKey &key : kKeys)
    text +=
        (text.empty() ? "" : "\n") + key.name.str() + "=" + key.values() + "; " + key.meaning.str();
  return text;
}

Result<Pins> readPins(const std::map<std::string, std::string> &fixed) {
  Pins pins;
  for (const auto &pin : fixed) {
    const std::string &name = pin.first, &text = pin.second;
    const PinKey *key = llvm::find_if(kKeys, [&](const PinKey &k) { return name == k.name; });
    if (key == std::end(kKeys)) {
      llvm::SmallVector<llvm::StringRef> names(
          llvm::map_range(kKeys, [](const PinKey &k) { return k.name; }));
      return UserError(given(name, text) + ": there is no key '" + name + "'",
                       didYouMean(name, names) + "keys are " + allNames());
    }
    if (!key->number) {
      std::optional<UserError> error = readWord(name, text, pins);
      if (!error)
        continue;
      if (error->note.find("did you mean") == std::string::npos)
        error->note = didYouMean(text, choicesOf(*key)) + error->note;
      return *error;
    }
    int64_t value = 0;
    if (llvm::StringRef(text).getAsInteger(10, value))
      return UserError(given(name, text) + ": '" + text + "' is not a whole number");
    if (value < key->low || value > key->high)
      return UserError(given(name, text) + ": " + name + " goes from " + std::to_string(key->low) +
                           " to " + std::to_string(key->high),
                       "the nearest choice is " + name + "=" +
                           std::to_string(std::clamp(value, key->low, key->high)));
    pins.*key->number = value;
  }
  for (auto check : {checkVirtualStages, checkVocabulary, checkContext, checkTensorOfParts})
    if (std::optional<UserError> error = check(pins))
      return *error;
  if (pins.contextInner)
    pins.contextKind = ContextKind::Both;
  if (pins.isUneven())
    pins.tp = *llvm::max_element(*pins.tensorOfParts);
  return pins;
}

} // namespace dtc

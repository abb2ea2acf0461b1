// Tensor and sequence parallelism, and the placements of ops and parameters over its ranks.
#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/decide/decisions/Pins.h"
#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

namespace dtc::families {
namespace {

constexpr llvm::StringRef kInCells = "the cells beside the key are those of it";
constexpr LeftOut kOfCells[] = {{KeptResult::Work, kInCells}};
constexpr LeftOut kOfCellsAlone[] = {{KeptResult::Work, kInCells},
                                     {KeptResult::PartCost, kInCells}};
constexpr LeftOut kOfParts[] = {{KeptResult::Work, kInCells},
                                {KeptResult::PartCost, "the part is beside the key"}};

std::string phraseOfParts(const Decisions &d) {
  return d.hasUnevenTensor() ? "tp by part " + tensorOfPartsText(d) : "one tp on all parts";
}

llvm::SmallVector<int64_t, 4> listOfParts(const Decisions &d) {
  llvm::SmallVector<int64_t, 4> list;
  for (int64_t ranks : d.tensorOfParts)
    if (ranks > 0)
      list.push_back(ranks);
  return list;
}

std::string readListOfParts(llvm::ArrayRef<int64_t> list, Decisions &d) {
  bool isGood =
      !list.empty() && list.size() <= kMostUnevenParts &&
      llvm::all_of(list, [](int64_t ranks) { return ranks >= 1 && ranks <= kMostTensorOfPart; });
  if (!isGood)
    return "wanted ranks of tp of each part, of 1 to " + std::to_string(kMostUnevenParts) +
           " parts";
  for (auto [part, ranks] : llvm::enumerate(list))
    d.tensorOfParts[part] = static_cast<int16_t>(ranks);
  return "";
}

std::optional<UserError> readPinOfParts(const std::string &text, Decisions &d) {
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
    return refusedWord("tp_of_parts", text, "not a list of tensor-parallel ranks by part",
                       "use even, or one number for each of 2 to " + std::to_string(ranks.size()) +
                           " parts, each a divisor of the largest, such as 1-8");
  bool isEven = llvm::all_of(ranks, [&](int64_t each) { return each == 0 || each == most; });
  if (isEven && most > 0)
    return refusedWord("tp_of_parts", text, "all parts have the same tensor parallelism",
                       "use tp=" + std::to_string(most) + ",tp_of_parts=even");
  d.tensorOfParts = ranks;
  return std::nullopt;
}

std::string placementOf(const Decisions &d) { return placementText(d).str(); }

std::string readPlacement(llvm::StringRef word, Decisions &d) {
  d.placement = word == "searched" ? 1 : 0; // the index is meaningless without the frontier
  return word == placementText(d) ? "" : "is '" + word.str() + "', wanted megatron or searched";
}

std::optional<UserError> readPinnedPlacement(const std::string &text, Decisions &d) {
  if (readPlacement(text, d).empty())
    return std::nullopt;
  return refusedWord("placement", text, "there is no such choice of placements",
                     "choices are megatron (weights split, Megatron's pattern) and searched");
}

int64_t largestOf(const Decisions &d) {
  return *std::max_element(d.tensorOfParts.begin(), d.tensorOfParts.end());
}

// Some parts have fewer ranks than tp, and all have a divisor of it.
bool isUnevenWithin(const Decisions &d) {
  bool hasFewer = false;
  for (int64_t ranks : d.tensorOfParts) {
    if (ranks > 0 && d.tp % ranks != 0)
      return false;
    hasFewer |= ranks > 0 && ranks < d.tp;
  }
  return hasFewer;
}

// The others of a part's micro-batch are whole samples.
bool leavesSamples(const Decisions &d) {
  return llvm::all_of(d.tensorOfParts, [&](int64_t ranks) {
    return ranks == 0 || d.microBatch % (largestOf(d) / ranks) == 0;
  });
}

constexpr Rule kRulesOfParts[] = {
    {.keys = "tp_of_parts,tp",
     .holds = [](const Decisions &d) { return !d.hasUnevenTensor() || largestOf(d) == d.tp; },
     .why = "tp has to be the largest of tp_of_parts",
     .mend = "use the largest, or leave tp out"},
    {.keys = "tp_of_parts,tp",
     .holds = [](const Decisions &d) { return !d.hasUnevenTensor() || isUnevenWithin(d); },
     .why = "some parts need fewer ranks than tp, a divisor of it",
     .mend = "use tp_of_parts=even, or other divisors of tp"},
    {.keys = "tp_of_parts,pp",
     .holds = [](const Decisions &d) { return !d.hasUnevenTensor() || d.pp > 1; },
     .why = "each part needs pipeline stages of its own",
     .mend = "use pp=2 or more"},
    {.keys = "tp_of_parts,placement",
     .holds = [](const Decisions &d) { return !d.hasUnevenTensor() || d.placement == 0; },
     .why = "searched placements need the same tp on all parts",
     .mend = "use placement=megatron",
     .scope = Rule::Scope::Pins}, // op by op, a plan says what it has
    {.keys = "tp_of_parts,zero_group",
     .holds = [](const Decisions &d) { return !d.hasUnevenTensor() || !d.hasZeroGroups(); },
     .why = "parts have different numbers of ranks of dp",
     .mend = "use zero_group=0"},
    {.keys = "tp_of_parts,vocab_over_pp",
     .holds = [](const Decisions &d) { return !d.hasUnevenTensor() || !d.dividesVocabulary(); },
     .why = "equal shares of the vocabulary take different times on the parts",
     .mend = "use vocab_over_pp=0"},
    {.keys = "tp_of_parts,micro_batch",
     .holds = [](const Decisions &d) { return !d.hasUnevenTensor() || leavesSamples(d); },
     .why = "parts with fewer ranks of tp divide micro_batch among more ranks of dp",
     .mend = "use a multiple of the largest quotient of tp_of_parts"},
};

constexpr StackRule kStacksOfTensor[] = {
    {.keys = "tp",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.tp == 1 || space.tensorParallel; },
     .mend = "use tp=1",
     .part = StackRule::Part::Mesh}};

constexpr StackRule kStacksOfParts[] = {
    {.keys = "tp_of_parts",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return !d.hasUnevenTensor() || space.unevenTensor; },
     .mend = "use tp_of_parts=even",
     .part = StackRule::Part::Mesh}};

constexpr StackRule kStacksOfSequence[] = {
    {.keys = "sp",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.tp == 1 || hasWordOf(space.sequenceParallel, d.sequenceParallel);
         },
     .mend = "sequence_parallel can be {sequence_parallel}",
     .part = StackRule::Part::Mesh}};

constexpr Decision kTensorRows[] = {
    {.key = "tp",
     .field = fieldOf<&Decisions::tp>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::Number, .inMesh = true, .least = 1},
     .pin = {.name = "tp", .meaning = "ranks of tensor parallelism", .low = 1, .high = kMostPinned},
     .mechanism = {"tensor parallelism", [](const Decisions &d) { return d.tp > 1 ? 4 : 0; }},
     .stackRules = kStacksOfTensor,
     .leftOut = kOfCells},
    {.key = "tp_of_parts",
     .field = fieldOf<&Decisions::tensorOfParts>(),
     .value = tensorOfPartsText,
     .listing = Listing::IfUnusual,
     .phrase = phraseOfParts,
     .plan = {.form = PlanForm::NumberList,
              .inMesh = true,
              .mayMiss = true,
              .onlyUnusual = true,
              .readList = readListOfParts,
              .list = listOfParts},
     .pin = {.name = "tp_of_parts",
             .meaning = "ranks of tensor parallelism on each part of a heterogeneous system; tp is "
                        "the largest of them, and dp and micro_batch are those of the stages with "
                        "that tp",
             .words = "even, or one number per part, such as 1-8",
             .readWord = readPinOfParts,
             .write =
                 [](const Decisions &d) {
                   return d.hasUnevenTensor() ? tensorOfPartsText(d) : std::string();
                 },
             .imply =
                 [](Pins &pins) {
                   if (pins.isUneven())
                     pins.fix(&Decisions::tp, largestOf(pins.decisions()));
                 }},
     .program = {[](const Decisions &d) { return !d.hasUnevenTensor(); }, "--fix tp_of_parts=even"},
     .launchers = {.holds = [](const Decisions &d) { return !d.hasUnevenTensor(); },
                   .have = "as many ranks of tensor parallelism on all stages",
                   .fix = "tp_of_parts=even"},
     .mechanism = {"tp by part", [](const Decisions &d) { return d.hasUnevenTensor() ? 2 : 0; }},
     .rules = kRulesOfParts,
     .stackRules = kStacksOfParts,
     .leftOut = kOfParts},
    {.key = "sp",
     .field = fieldOf<&Decisions::sequenceParallel>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::ZeroOrOne},
     .pin = {.name = "sp",
             .meaning = "sequence parallelism between the regions that tp splits",
             .low = 0,
             .high = 1},
     .stackRules = kStacksOfSequence,
     .leftOut = kOfCellsAlone},
    {.key = "placement",
     .field = fieldOf<&Decisions::placement>(),
     .value = placementOf,
     .listing = Listing::IfUnusual,
     .phrase = [](const Decisions &d) { return "placement " + placementOf(d); },
     .plan = {.form = PlanForm::Word, .mayMiss = true, .readWord = readPlacement},
     .pin = {.name = "placement",
             .meaning = "tensor parallelism in Megatron's pattern, or as a search over all ops "
                        "finds it",
             .words = "megatron or searched",
             .readWord = readPinnedPlacement,
             .write = placementOf},
     .launchers = {.holds = [](const Decisions &d) { return d.placement == 0; },
                   .have = "Megatron's placements of ops",
                   .fix = "placement=megatron",
                   .found = [](const Decisions &) { return std::string("searched ones"); }},
     .mechanism = {"searched placements",
                   [](const Decisions &d) { return d.placement > 0 ? 1 : 0; }},
     .leftOut = kOfCellsAlone},
};

} // namespace

llvm::ArrayRef<Decision> tensor() { return kTensorRows; }

} // namespace dtc::families

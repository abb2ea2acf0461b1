// Expert parallelism.
#include "compiler/decide/decisions/Experts.h"

#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/LegalSpace.h"

#include <cmath>

namespace dtc::families {
namespace {

constexpr LeftOut kOfExpertCells[] = {
    {KeptResult::Work, "the cells beside the key are those of it"}};

std::string tensorOfExpert(const Decisions &d) { return d.foldedExperts ? "1" : "tp"; }

// Reads the ranks of tensor parallelism that an expert is split over: one, or all.
std::string readTensorOfExpert(int64_t ranks, Decisions &d) {
  d.foldedExperts = ranks < d.tp;
  if (ranks == 1 || ranks == d.tp)
    return "";
  return "is " + std::to_string(ranks) +
         ", wanted 1, for whole experts, or tp = " + std::to_string(d.tp);
}

constexpr double kMostRoom = 1e6; // no system has more ranks

std::string roomOfExperts(const Decisions &d) {
  if (d.expertRoomPerMille == 0)
    return "all";
  std::string text = std::to_string(d.expertRoomPerMille / 1000);
  if (int32_t rest = d.expertRoomPerMille % 1000) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

// Returns the room that a text says, per mille; nothing where it says none.
std::optional<int32_t> roomFrom(llvm::StringRef text) {
  double factor = 0;
  if (text == "all")
    return 0;
  if (text.getAsDouble(factor) || !(factor >= 1 && factor <= kMostRoom))
    return std::nullopt;
  return static_cast<int32_t>(std::lround(factor * 1000));
}

std::string readRoom(llvm::StringRef word, Decisions &d) {
  std::optional<int32_t> room = roomFrom(word);
  d.expertRoomPerMille = room.value_or(0);
  return room ? "" : "is '" + word.str() + "', wanted a factor of at least 1, or all";
}

std::optional<UserError> readPinnedRoom(const std::string &text, Decisions &d) {
  std::optional<int32_t> room = roomFrom(text);
  d.expertRoomPerMille = room.value_or(0);
  if (room)
    return std::nullopt;
  return refusedWord("expert_room", text,
                     "room for the rows of a rank's experts is a factor over their mean, of at "
                     "least 1",
                     "use expert_room=1.25, or another factor, or all, which has room for any "
                     "routing");
}

std::optional<UserError> readPinnedTensor(const std::string &text, Decisions &d) {
  d.foldedExperts = text == "1";
  if (text == "1" || text == "tp")
    return std::nullopt;
  return refusedWord("etp", text, "an expert is whole (1) or split over all ranks of tp (tp)",
                     "choices are 1 and tp");
}

constexpr Rule kRulesOfRanks[] = {
    {.keys = "ep,dp,cp,tp,etp",
     .holds = [](const Decisions &d) { return d.ranksOfExperts() % d.ep == 0; },
     .why = "ep has to divide dp x cp, and dp x cp x tp of folded experts",
     .mend = "use another ep, or leave one of the others to the planner"}};

constexpr Rule kRulesOfFolding[] = {
    {.keys = "etp,sp",
     .holds = [](const Decisions &d) { return !d.foldedExperts || d.sequenceParallel; },
     .why = "experts folded over tp need sequence parallelism",
     .mend = "use sp=1, or etp=tp"}};

constexpr Rule kRulesOfRoom[] = {
    {.keys = "expert_room,ep",
     .holds =
         [](const Decisions &d) {
           return d.expertRoomPerMille == 0 || (d.ep > 1 && d.cp == 1 && !d.foldedExperts);
         },
     .why = "expert_room is of experts on several ranks inside dp",
     .mend = "use ep=2 or more with cp=1 and etp=tp, or leave expert_room out"}};

constexpr StackRule kStacksOfExperts[] = {
    {.keys = "ep",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.ep == 1 || space.expertParallel; },
     .mend = "use ep=1",
     .part = StackRule::Part::Mesh},
    {.keys = "",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return !space.expertsWithinData || d.zeroRanks() % d.ep == 0;
         },
     .part = StackRule::Part::Zero}};

constexpr StackRule kStacksOfFolding[] = {
    {.keys = "etp",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return !d.foldedExperts || space.foldedExperts; },
     .mend = "use etp=tp",
     .part = StackRule::Part::Mesh,
     .openIsSeveral = true},
    {.keys = "tp,ep",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.foldedExperts ? space.foldedExperts
                                  : d.ep == 1 || d.tp == 1 || space.expertsBesideTensor;
         },
     .mend = "one of them has to be 1",
     .part = StackRule::Part::Mesh}};

constexpr Decision kExpertsRows[] = {
    {.key = "ep",
     .field = fieldOf<&Decisions::ep>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::Number, .inMesh = true, .least = 1},
     .pin = {.name = "ep",
             .meaning = "ranks of expert parallelism, inside dp and cp, and tp with etp=1",
             .low = 1,
             .high = kMostPinned},
     .program = {[](const Decisions &d) { return d.ep == 1 || d.cp == 1; }, "--fix cp=1"},
     .mechanism = {"expert parallelism", [](const Decisions &d) { return d.ep > 1 ? 4 : 0; }},
     .rules = kRulesOfRanks,
     .stackRules = kStacksOfExperts},
    {.key = "etp",
     .field = fieldOf<&Decisions::foldedExperts>(),
     .value = tensorOfExpert,
     .listing = Listing::IfUnusual,
     .plan = {.form = PlanForm::Number,
              .inMesh = true,
              .mayMiss = true,
              .onlyUnusual = true,
              .least = 1,
              .readNumber = readTensorOfExpert,
              .number = [](const Decisions &d) { return d.tensorRanksOfExpert(); }},
     .pin = {.name = "etp",
             .meaning = "ranks of tensor parallelism that split an expert; 1 folds experts over tp",
             .words = "1 or tp",
             .readWord = readPinnedTensor,
             .write = [](const Decisions &d) { return std::string(d.foldedExperts ? "1" : ""); },
             .settle = [](Decisions &d, bool isPinned) { d.foldedExperts &= d.tp > 1; }},
     .program = {[](const Decisions &d) { return !d.foldedExperts; }, "--fix etp=tp"},
     .mechanism = {"experts folded over tp",
                   [](const Decisions &d) { return d.foldedExperts ? 1 : 0; }},
     .rules = kRulesOfFolding,
     .stackRules = kStacksOfFolding,
     .leftOut = kOfExpertCells},
    {.key = "expert_room",
     .field = fieldOf<&Decisions::expertRoomPerMille>(),
     .value = roomOfExperts,
     .listing = Listing::IfUnusual,
     .plan = {.form = PlanForm::Word, .mayMiss = true, .onlyUnusual = true, .readWord = readRoom},
     .pin = {.name = "expert_room",
             .meaning = "rows that a rank's experts have room for, over their mean; the rest go in "
                        "further rounds",
             .words = "a factor of at least 1, or all",
             .readWord = readPinnedRoom,
             .write =
                 [](const Decisions &d) {
                   return d.expertRoomPerMille == 0 ? std::string() : roomOfExperts(d);
                 }},
     .launchers = {.holds = [](const Decisions &d) { return d.expertRoomPerMille == 0; },
                   .have = "no rounds of rows of experts",
                   .fix = "expert_room=all"},
     .mechanism = {"rounds of rows of experts",
                   [](const Decisions &d) { return d.expertRoomPerMille > 0 ? 1 : 0; }},
     .rules = kRulesOfRoom},
};

} // namespace

llvm::ArrayRef<Decision> experts() { return kExpertsRows; }

} // namespace dtc::families

namespace dtc {

TensorSplit TensorSplit::of(const Decisions &d) {
  return {d.tp, d.sequenceParallel, d.foldedExperts};
}

Decisions TensorSplit::decisions() const {
  Decisions d;
  d.tp = tp;
  d.sequenceParallel = sequenceParallel;
  return withFoldedExperts(d, foldsExperts);
}

Decisions withFoldedExperts(Decisions d, bool folds) {
  d.foldedExperts = folds;
  return d;
}

llvm::SmallVector<bool, 2> foldingsOf(const Pins &pins, int64_t tp) {
  if (tp == 1)
    return {false};
  if (std::optional<bool> pinned = pins[&Decisions::foldedExperts])
    return {*pinned};
  return {false, true};
}

bool pinsFoldedExperts(const Pins &pins) { return pins[&Decisions::foldedExperts].value_or(false); }

} // namespace dtc

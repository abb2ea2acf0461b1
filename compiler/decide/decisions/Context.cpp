// Context parallelism.
#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/decide/decisions/Pins.h"
#include "compiler/decide/decisions/Words.h"

namespace dtc::families {
namespace {

constexpr llvm::StringRef kLeastMemoryFirst =
    "the first kind that is there needs least memory, and comes first";
constexpr LeftOut kOfKind[] = {{KeptResult::Work, "ranks compute the same, whatever they send"},
                               {KeptResult::LeastMemory, kLeastMemoryFirst}};

std::string kindOf(const Decisions &d) { return toString(d.contextKind).str(); }

// All kinds are the same where no rank shares a sequence.
std::string phraseOfKind(const Decisions &d) { return d.cp > 1 ? "cp by " + contextText(d) : ""; }

std::string readKind(llvm::StringRef word, Decisions &d) {
  std::optional<ContextKind> kind = contextKindFrom(word);
  d.contextKind = kind.value_or(d.contextKind);
  return kind ? "" : "is '" + word.str() + "', wanted one of ring, all-to-all, both, all-gather";
}

std::optional<UserError> readPinnedKind(const std::string &text, Decisions &d) {
  if (readKind(text, d).empty())
    return std::nullopt;
  return refusedWord("cp_kind", text, "there is no such kind of context parallelism",
                     "choices are ring, all-to-all, both and all-gather");
}

// Without context parallelism --fix has nothing to choose, and the size of groups implies the kind.
std::string pinOfKind(const Decisions &d) {
  return d.cp == 1 || d.contextKind == ContextKind::Both ? "" : kindOf(d);
}
std::string pinOfInner(const Decisions &d) {
  return d.contextKind == ContextKind::Both ? std::to_string(d.contextInner) : "";
}

bool isKindOfPrograms(const Decisions &d) {
  return d.cp == 1 || d.contextKind != ContextKind::Both;
}

constexpr Rule kRulesOfKind[] = {
    {.keys = "cp_kind,cp",
     .holds = [](const Decisions &d) { return d.cp > 1 || d.contextKind == ContextKind::Ring; },
     .why = "a kind of context parallelism needs cp of 2 or more",
     .mend = "use cp=2 or more, or leave cp_kind out"}};

constexpr Rule kRulesOfInner[] = {
    {.keys = "cp_inner,cp_kind",
     .holds =
         [](const Decisions &d) {
           return d.contextKind == ContextKind::Both || d.contextInner == 1;
         },
     .why = "cp_inner needs cp_kind=both",
     .mend = "use cp_kind=both, or leave cp_inner out"},
    {.keys = "cp_inner,cp",
     .holds =
         [](const Decisions &d) {
           return d.contextInner == 1 ? d.contextKind != ContextKind::Both
                                      : d.contextInner < d.cp && d.cp % d.contextInner == 0;
         },
     .why = "cp_kind=both needs a cp_inner that divides cp and is less than it",
     .mend = "use another cp_inner or cp, or leave cp_inner out"}};

constexpr StackRule kStacksOfRanks[] = {
    {.keys = "cp",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.cp == 1 || space.contextKinds != 0; },
     .mend = "use cp=1",
     .part = StackRule::Part::Mesh},
    {.keys = "cp,pp",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.cp == 1 || d.pp == 1 || space.contextBesidePipeline;
         },
     .mend = "one of them has to be 1",
     .part = StackRule::Part::Mesh}};

constexpr StackRule kStacksOfKind[] = {{.keys = "cp_kind",
                                        .holds =
                                            [](const Decisions &d, const LegalSpace &space) {
                                              return d.cp == 1 ||
                                                     hasWordOf(space.contextKinds, d.contextKind);
                                            },
                                        .mend = "context_kinds can be {context_kinds}",
                                        .part = StackRule::Part::Mesh,
                                        .openIsSeveral = true}};

constexpr Decision kContextRows[] = {
    {.key = "cp",
     .field = fieldOf<&Decisions::cp>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::Number, .inMesh = true, .least = 1},
     .pin =
         {.name = "cp", .meaning = "ranks of context parallelism", .low = 1, .high = kMostPinned},
     .mechanism = {"context parallelism", [](const Decisions &d) { return d.cp > 1 ? 5 : 0; }},
     .stackRules = kStacksOfRanks},
    {.key = "cp_kind",
     .field = fieldOf<&Decisions::contextKind>(),
     .value = kindOf,
     .listing = Listing::IfUnusual,
     .phrase = phraseOfKind,
     .plan = {.form = PlanForm::Word, .mayMiss = true, .onlyUnusual = true, .readWord = readKind},
     .pin = {.name = "cp_kind",
             .meaning = "kind of context parallelism: ring attention, all-to-all of heads, both "
                        "(all-to-all in groups, a ring over the groups), or all-gathered keys",
             .words = "ring, all-to-all, both or all-gather",
             .readWord = readPinnedKind,
             .write = pinOfKind},
     .program = {isKindOfPrograms, "--fix cp_kind=ring, all-to-all or all-gather"},
     .rules = kRulesOfKind,
     .stackRules = kStacksOfKind,
     .leftOut = kOfKind},
    {.key = "cp_inner",
     .field = fieldOf<&Decisions::contextInner>(),
     .plan = {.form = PlanForm::Number, .mayMiss = true, .onlyUnusual = true, .least = 1},
     .pin = {.name = "cp_inner",
             .meaning = "ranks of cp in each all-to-all group, with cp_kind=both",
             .low = 2,
             .high = kMostPinned,
             .write = pinOfInner,
             .imply = [](Pins &pins) { pins.fix(&Decisions::contextKind, ContextKind::Both); }},
     .rules = kRulesOfInner,
     .leftOut = kOfKind},
};

} // namespace

llvm::ArrayRef<Decision> context() { return kContextRows; }

} // namespace dtc::families

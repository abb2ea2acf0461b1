// ZeRO: the ranks of data parallelism share states, gradients and parameters out.
#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/LegalSpace.h"

namespace dtc::families {
namespace {

// Groups change where ZeRO sends, not what blocks compute or send among themselves.
constexpr LeftOut kOfGroups[] = {
    {KeptResult::Work, "blocks compute the same"},
    {KeptResult::PartCost, "blocks cost the same; the estimate of a step adds its effect"},
    {KeptResult::MeshCost, "blocks cost the same; the estimate of a step adds its effect"}};

std::string phraseOfGroup(const Decisions &d) {
  return d.zeroGroup > 0 ? "ZeRO in groups of " + std::to_string(d.zeroGroup)
                         : "ZeRO over all of dp";
}

constexpr Rule kRulesOfGroups[] = {
    {.keys = "zero_group,zero",
     .holds = [](const Decisions &d) { return d.zeroGroup == 0 || d.zero > 0; },
     .why = "ZeRO-0 splits nothing over groups",
     .mend = "use zero=1 or more, or leave zero_group out",
     .scope = Rule::Scope::Plans}, // --fix may name all of dp
    {.keys = "zero_group,dp",
     .holds =
         [](const Decisions &d) {
           return d.zeroGroup == 0 || (d.zeroGroup > 1 && d.dp % d.zeroGroup == 0);
         },
     .why = "a group has more than one rank, and their number divides dp",
     .mend = "use another zero_group or dp",
     .scope = Rule::Scope::Plans},
    {.keys = "zero_group,ep",
     .holds =
         [](const Decisions &d) {
           return d.zeroGroup == 0 || d.ranksOfExperts(d.zeroGroup) % d.ep == 0;
         },
     .why = "the ranks of a group hold all experts",
     .mend = "use another zero_group or ep",
     .scope = Rule::Scope::Plans},
};

// ZeRO-0 has no group.
bool mayGroup(int64_t zero, const LegalSpace &space) {
  return zero > 0 && hasWord(space.zeroGroups, static_cast<size_t>(zero - 1));
}

constexpr StackRule kStacksOfZero[] = {
    {.keys = "zero",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.pp > 1 || hasWordOf(space.zero, d.zero); },
     .mend = "zero can be {zero}",
     .part = StackRule::Part::Zero},
    {.keys = "zero,pp",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.pp == 1 || hasWordOf(space.zeroOfPipelines, d.zero);
         },
     .mend = "zero_of_pipelines can be {zero_of_pipelines}",
     .part = StackRule::Part::Zero},
    {.keys = "zero,cp",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.cp == 1 || hasWordOf(space.zeroOfContextsAndExperts, d.zero);
         },
     .mend = "zero_of_contexts_and_experts can be {zero_of_contexts_and_experts}",
     .part = StackRule::Part::Zero},
    {.keys = "zero,ep",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.ep == 1 || hasWordOf(space.zeroOfContextsAndExperts, d.zero);
         },
     .mend = "zero_of_contexts_and_experts can be {zero_of_contexts_and_experts}",
     .part = StackRule::Part::Zero}};

constexpr StackRule kStacksOfGroups[] = {
    {.keys = "zero,zero_group",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.zeroGroup == 0 || d.zero == 0 || mayGroup(d.zero, space);
         },
     .mend = "zero_groups can be {zero_groups}",
     .part = StackRule::Part::Zero},
    {.keys = "zero_group",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.zeroGroup == 0 || space.zeroGroups != 0; },
     .mend = "zero_groups can be {zero_groups}",
     .part = StackRule::Part::Zero},
    {.keys = "",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.zeroGroup == 0 || d.zero > 0; },
     .part = StackRule::Part::Zero}};

constexpr Decision kZeroRows[] = {
    {.key = "zero",
     .field = fieldOf<&Decisions::zero>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::Number, .least = 0},
     .pin = {.name = "zero",
             .meaning = "ZeRO: ranks of dp split optimizer states with 1, gradients as well with "
                        "2, parameters as well with 3",
             .low = 0,
             .high = 3},
     .mechanism = {"a higher kind of ZeRO",
                   [](const Decisions &d) { return d.zero > 1 ? static_cast<int>(d.zero) : 0; }},
     .stackRules = kStacksOfZero,
     .leftOut = kOfTheStep},
    {.key = "zero_group",
     .field = fieldOf<&Decisions::zeroGroup>(),
     .listing = Listing::IfUnusual,
     .phrase = phraseOfGroup,
     .plan = {.form = PlanForm::Number, .mayMiss = true, .onlyUnusual = true, .least = 0},
     .pin = {.name = "zero_group",
             .meaning = "ranks of dp that ZeRO splits over (HSDP); 0: all of them",
             .low = 0,
             .high = kMostPinned},
     .mechanism = {"ZeRO within groups",
                   [](const Decisions &d) { return d.zeroGroup > 0 ? 2 : 0; }},
     .rules = kRulesOfGroups,
     .stackRules = kStacksOfGroups,
     .leftOut = kOfGroups},
};

} // namespace

llvm::ArrayRef<Decision> zero() { return kZeroRows; }

} // namespace dtc::families

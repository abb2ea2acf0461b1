// Pipeline stages, their schedule, and the vocabulary on them.
#include "compiler/decide/decisions/Pipeline.h"

#include "compiler/decide/decisions/Families.h"
#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/decide/decisions/Words.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc::families {
namespace {

constexpr LeftOut kOfBlocks[] = {{KeptResult::Work, "a block computes the same on any stage"}};
constexpr LeftOut kOfStageOrder[] = {{KeptResult::Work, "a block computes the same on any stage"},
                                     {KeptResult::PartCost, "the part is beside the key"}};
// Cuts leave the share of the vocabulary out, and all else that estimates share knows of it.
constexpr LeftOut kOfVocabulary[] = {kOfTheStep[0], kOfTheStep[1], kOfTheStep[2]};

std::string scheduleOf(const Decisions &d) { return toString(d.schedule).str(); }

// All schedules are the same without a pipeline.
std::string phraseOfSchedule(const Decisions &d) {
  if (d.pp == 1)
    return "";
  return scheduleOf(d) + (d.virtualStages > 1 ? " x" + std::to_string(d.virtualStages) : "");
}

std::string readSchedule(llvm::StringRef word, Decisions &d) {
  Result<ScheduleKind> kind = scheduleFromPlan(word, d.virtualStages);
  if (!kind)
    return "is wrong: " + kind.error().message + "; " + kind.error().note;
  d.schedule = *kind;
  return "";
}

std::optional<UserError> readPinnedSchedule(const std::string &text, Decisions &d) {
  Result<ScheduleKind> kind = scheduleFromPlan(text, 1);
  if (!kind) // a V has two virtual stages
    if (Result<ScheduleKind> v = scheduleFromPlan(text, 2))
      kind = v;
  if (!kind)
    return refusedWord("schedule", text, kind.error().message, kind.error().note);
  d.schedule = *kind;
  return std::nullopt;
}

int pointsOfVirtualStages(const Decisions &d) {
  constexpr int64_t few = 4;
  return d.virtualStages > few ? 3 : d.virtualStages > 1 ? 2 : 0;
}

std::string phraseOfVocabulary(const Decisions &d) {
  return d.vocabOverPp > 0 ? "vocabulary over pp by algorithm " + std::to_string(d.vocabOverPp)
                           : "vocabulary on end stages";
}

// "zero-bubble" stands for ZB-V in --fix, too.
int64_t mostChunksOf(ScheduleKind kind, int64_t chunks) {
  return kind == ScheduleKind::ZeroBubbleH1 ? 2 : virtualStagesOf(kind).value_or(chunks);
}

constexpr Rule kRulesOfStages[] = {
    {.keys = "virtual_stages,pp",
     .holds = [](const Decisions &d) { return d.pp > 1 || d.virtualStages == 1; },
     .why = "virtual stages need a pipeline",
     .mend = "use pp=2 or more, or virtual_stages=1",
     .scope = Rule::Scope::Pins},
    {.keys = "schedule,pp",
     .holds = [](const Decisions &d) { return d.pp > 1 || !isV(d.schedule); },
     .why = "virtual stages need a pipeline",
     .mend = "use pp=2 or more, or schedule=1f1b",
     .scope = Rule::Scope::Pins},
    {.keys = "virtual_stages,schedule",
     .holds = [](const Decisions &d) { return !isV(d.schedule) || d.virtualStages > 1; },
     .why = "{schedule} has 2 virtual stages",
     .mend = "use virtual_stages=2, or schedule=zb-2p"},
    {.keys = "virtual_stages,schedule",
     .holds =
         [](const Decisions &d) {
           return d.virtualStages == 1 || mostChunksOf(d.schedule, d.virtualStages) > 1;
         },
     .why = "{schedule} has at most 1 virtual stage",
     .mend = "use virtual_stages=1, or schedule=interleaved"},
    {.keys = "virtual_stages,schedule",
     .holds =
         [](const Decisions &d) {
           return d.virtualStages <=
                  std::max<int64_t>(2, mostChunksOf(d.schedule, d.virtualStages));
         },
     .why = "{schedule} has at most 2 virtual stages",
     .mend = "use virtual_stages=2, or schedule=interleaved"},
};

// Passes S and T have positions in 1F1B and V-Half, and keep their parameters whole.
constexpr Rule kRulesOfVocabulary[] = {
    {.keys = "vocab_over_pp,pp",
     .holds = [](const Decisions &d) { return d.vocabOverPp == 0 || d.pp > 1; },
     .why = "vocabulary parallelism needs pipeline stages",
     .mend = "use pp=2 or more, or vocab_over_pp=0"},
    {.keys = "vocab_over_pp,schedule",
     .holds =
         [](const Decisions &d) {
           return d.vocabOverPp == 0 || d.schedule == ScheduleKind::OneForwardOneBackward ||
                  d.schedule == ScheduleKind::VHalf;
         },
     .why = "vocabulary parallelism needs schedule 1f1b or v-half",
     .mend = "use schedule=1f1b or v-half, or vocab_over_pp=0"},
    {.keys = "vocab_over_pp,zero",
     .holds = [](const Decisions &d) { return d.vocabOverPp == 0 || d.zero <= 1; },
     .why = "vocabulary parallelism needs zero=0 or zero=1",
     .mend = "use zero=0 or zero=1, or vocab_over_pp=0"},
};

constexpr StackRule kStacksOfStages[] = {
    {.keys = "pp",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.pp == 1 || space.pipelineParallel; },
     .mend = "use pp=1",
     .part = StackRule::Part::Mesh}};

// A plan without a pipeline has no schedule; it says 1f1b.
constexpr StackRule kStacksOfSchedule[] = {
    {.keys = "schedule",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.pp == 1 || hasWordOf(space.schedules, d.schedule);
         },
     .mend = "schedules can be {schedules}",
     .openIsSeveral = true},
    {.keys = "", .holds = [](const Decisions &d, const LegalSpace &space) {
       return d.pp == 1 || !hasWordOf(space.fillsStages, d.schedule) ||
              d.numMicroBatches % d.pp == 0;
     }}};

constexpr StackRule kStacksOfVocabulary[] = {
    {.keys = "vocab_over_pp",
     .holds = [](const Decisions &d,
                 const LegalSpace &space) { return d.vocabOverPp == 0 || space.vocabOverPp != 0; },
     .mend = "use vocab_over_pp=0"},
    {.keys = "vocab_over_pp",
     .holds =
         [](const Decisions &d, const LegalSpace &space) {
           return d.vocabOverPp == 0 ||
                  hasWord(space.vocabOverPp, static_cast<size_t>(d.vocabOverPp - 1));
         },
     .mend = "vocab_over_pp can be {vocab_over_pp}"},
    {.keys = "", .holds = [](const Decisions &d, const LegalSpace &space) {
       return d.vocabOverPp == 0 || mayDivideVocabulary(d);
     }}};

constexpr Decision kPipelineRows[] = {
    {.key = "pp",
     .field = fieldOf<&Decisions::pp>(),
     .listing = Listing::Always,
     .plan = {.form = PlanForm::Number, .inMesh = true, .least = 1},
     .pin = {.name = "pp", .meaning = "stages of the pipeline", .low = 1, .high = kMostPinned},
     .mechanism = {"pipeline parallelism", [](const Decisions &d) { return d.pp > 1 ? 4 : 0; }},
     .stackRules = kStacksOfStages,
     .leftOut = kOfBlocks},
    {.key = "schedule",
     .field = fieldOf<&Decisions::schedule>(),
     .value = scheduleOf,
     .listing = Listing::IfUnusual,
     .phrase = phraseOfSchedule,
     .plan = {.form = PlanForm::Word, .readWord = readSchedule},
     .pin = {.name = "schedule",
             .meaning = "pipeline schedule; zero-bubble is H1 with 1 virtual stage and zb-v with 2",
             .words = "gpipe, 1f1b, interleaved, zero-bubble, zb-v, zb-2p, v-half or v-min",
             .readWord = readPinnedSchedule,
             .write = [](const Decisions &d) { return d.pp > 1 ? scheduleOf(d) : std::string(); }},
     .mechanism = {"split backward passes",
                   [](const Decisions &d) {
                     return d.pp > 1 && splitsBackward(d.schedule) ? 2 : 0;
                   }},
     .stackRules = kStacksOfSchedule,
     .leftOut = kOfTheStep},
    {.key = "virtual_stages",
     .field = fieldOf<&Decisions::virtualStages>(),
     .plan = {.form = PlanForm::Number, .least = 1},
     .pin = {.name = "virtual_stages",
             .meaning = "chunks of the model on each stage",
             .low = 1,
             .high = kMostPinned,
             .write =
                 [](const Decisions &d) {
                   return d.pp > 1 ? std::to_string(d.virtualStages) : std::string();
                 },
             .settle =
                 [](Decisions &d, bool isPinned) {
                   if (!isPinned)
                     d.virtualStages = isV(d.schedule) ? 2 : 1;
                 }},
     .mechanism = {"virtual stages", pointsOfVirtualStages},
     .rules = kRulesOfStages,
     .leftOut = kOfTheStep},
    {.key = "vocab_over_pp",
     .field = fieldOf<&Decisions::vocabOverPp>(),
     .listing = Listing::IfUnusual,
     .phrase = phraseOfVocabulary,
     .plan = {.form = PlanForm::Number, .mayMiss = true, .onlyUnusual = true, .least = 0},
     .pin = {.name = "vocab_over_pp",
             .meaning = "vocabulary parallelism: the algorithm by which all stages share embedding "
                        "and output layer; 0: these are on the first and the last stage",
             .low = 0,
             .high = 2},
     .program = {[](const Decisions &d) { return d.vocabOverPp == 0; }, "--fix vocab_over_pp=0"},
     .launchers = {.holds = [](const Decisions &d) { return !d.dividesVocabulary(); },
                   .have = "embedding and output layer on the first and the last stage",
                   .fix = "vocab_over_pp=0",
                   .found =
                       [](const Decisions &) {
                         return std::string("a vocabulary that all stages share out");
                       }},
     .mechanism = {"vocabulary over stages",
                   [](const Decisions &d) { return d.vocabOverPp > 0 ? 3 : 0; }},
     .rules = kRulesOfVocabulary,
     .stackRules = kStacksOfVocabulary,
     .leftOut = kOfVocabulary},
    {.key = "even_stages", .field = fieldOf<&Decisions::evenStages>(), .leftOut = kOfTheStep},
    {.key = "part_order", .field = fieldOf<&Decisions::partOrder>(), .leftOut = kOfStageOrder},
};

} // namespace

llvm::ArrayRef<Decision> pipeline() { return kPipelineRows; }

} // namespace dtc::families

namespace dtc {

bool mayDivideVocabulary(const Decisions &d) {
  Decisions divided = d;
  divided.vocabOverPp = 1;
  return llvm::all_of(families::kRulesOfVocabulary,
                      [&](const Rule &rule) { return rule.holds(divided); });
}

} // namespace dtc

// Tests that a plan that is written as JSON reads back.
#include "compiler/decide/plan/PlanJson.h"
#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/plan/Plan.h"
#include "compiler/decide/plan/PlanToJson.h"

#include "gtest/gtest.h"

using namespace dtc;

namespace {

// Returns a plan in which every decision differs from Decisions(), and two layers recompute
// differently.
Plan unusual() {
  Plan plan;
  plan.devices = 64;
  plan.sequenceLength = 128;
  plan.globalBatch = 48;
  plan.predicted.stepSeconds = 1;
  plan.predicted.mfu = 0.5;
  plan.predicted.mfuCausal = 0.25;
  Decisions &d = plan.decisions;
  d.dp = 2;
  d.tp = 4;
  d.pp = 2;
  d.cp = 4;
  d.contextKind = ContextKind::Both;
  d.contextInner = 2;
  d.ep = 8;
  d.foldedExperts = true;
  d.sequenceParallel = true;
  d.zero = 3;
  d.zeroGroup = 2;
  d.microBatch = 3;
  d.numMicroBatches = 8;
  d.schedule = ScheduleKind::ZeroBubbleV;
  d.virtualStages = 2;
  d.recompute = Recompute::Selective;
  d.recomputeMost = Recompute::Full;
  d.order = {'d', 't', 'c', 'p'};
  d.placement = 1;
  d.offloadOptimizer = true;
  d.layersOnHost = LayersOnHost::Some;
  d.overlapGradients = false;
  d.bucketBytes = 1 << 20;
  for (int64_t stage = 0; stage < 2; ++stage) {
    PlanStage &out = plan.stages.emplace_back();
    out.chunks = {{stage, stage}, {3 - stage, 3 - stage}};
    out.chunkTimes.resize(2);
    out.firstLayer = stage;
    out.lastLayer = 3 - stage;
    for (int64_t rank = 0; rank < 32; ++rank)
      out.ranks.push_back(stage * 32 + rank);
    out.recompute = {stage == 0 ? "full" : "selective", "selective"};
    out.offloadedLayers = stage;
  }
  return plan;
}

using LayerRuns = std::vector<std::pair<int64_t, int64_t>>;

// Returns the error, or "".
std::string read(const std::string &text, Plan &plan) {
  Status done = planFromJson(text, "a.json", plan);
  return done ? "" : done.error().text();
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  return at == std::string::npos ? "nothing to replace" : text.replace(at, from.size(), to);
}

} // namespace

TEST(PlanJson, KeepsEveryDecision) {
  Plan plan = unusual(), again;
  std::string text = planToJson(plan);
  ASSERT_EQ(read(text, again), "");
  EXPECT_EQ(again.decisions, plan.decisions);
  EXPECT_EQ(planToJson(again), text);
  EXPECT_EQ(again.predicted.mfuCausal, 0.25);
}

// The search also describes the fastest plan, if it was passed over, and recipes.
TEST(PlanJson, KeepsWhatTheSearchSaysOfOthers) {
  Plan plan = unusual(), read;
  plan.origin.model = "m.json";
  plan.origin.whyNotCompiled = "the plan has cp = 4";
  PlanSearch &search = plan.search;
  search.fastestSeconds = 0.99;
  search.fastestExpectedSeconds = 0.995;
  search.tieShare = 0.01;
  search.passedOver = "virtual stages";
  KnownRecipe recipe;
  recipe.name = "FSDP";
  recipe.pins = "tp=1,zero=3";
  recipe.stepSeconds = 1.25;
  recipe.peakMemoryBytes = 77;
  recipe.losesOn = "bubble +1 s";
  search.recipes = {recipe, recipe};
  search.recipes[1].fits = false;
  search.recipes[1].peakMemoryBytes = int64_t(4) << 40; // bytes of a large model on each device
  search.recipes[1].isChosen = true;
  std::string text = planToJson(plan);
  Status caseResult = planFromJson(text, "plan.json", read);
  ASSERT_TRUE(caseResult.ok()) << caseResult.error().text();
  EXPECT_EQ(planToJson(read), text);
  EXPECT_EQ(read.search.fastestSeconds, 0.99);
  EXPECT_EQ(read.search.passedOver, "virtual stages");
  EXPECT_EQ(read.origin.whyNotCompiled, "the plan has cp = 4");
  ASSERT_EQ(read.search.recipes.size(), 2u);
  EXPECT_EQ(read.search.recipes[0].pins, "tp=1,zero=3");
  EXPECT_EQ(read.search.recipes[0].losesOn, "bubble +1 s");
  EXPECT_TRUE(read.search.recipes[0].fits);
  EXPECT_EQ(read.search.recipes[1].peakMemoryBytes, int64_t(4) << 40);
  EXPECT_FALSE(read.search.recipes[1].fits);
  EXPECT_TRUE(read.search.recipes[1].isChosen);
}

// The stages list the layers on the host, and the decision must agree with them.
TEST(PlanJson, CountsLayersOnTheHost) {
  Plan plan = unusual(), again;
  plan.predicted.times.exposedHost = 0.5;
  std::string text = planToJson(plan);
  ASSERT_EQ(read(text, again), "");
  EXPECT_EQ(again.stages[0].offloadedLayers, 0);
  EXPECT_EQ(again.stages[1].offloadedLayers, 1);
  EXPECT_EQ(again.predicted.times.exposedHost, 0.5);
  Plan edited;
  EXPECT_NE(read(replaced(text, "\"layers_on_host\": 1", "\"layers_on_host\": 3"), edited)
                .find("'layers_on_host' is 3 in some stage, wanted no more than its 2 layers"),
            std::string::npos);
  EXPECT_NE(
      read(replaced(text, "\"offload_activations\": \"some\"", "\"offload_activations\": \"all\""),
           edited = Plan())
          .find("'offload_activations' is 'all', but 1 of 4 layers are on the host"),
      std::string::npos);
}

// A decision that is missing in the JSON would be lost, and one with its default could be.
TEST(PlanJson, HasTheKeyOfEveryDecision) {
  Plan plan = unusual();
  plan.decisions.vocabOverPp = 2; // some other decisions are not read again with this one
  plan.decisions.tensorOfParts = {4, 1};
  plan.decisions.expertRoomPerMille = 1250;
  plan.decisions.lossChunks = 4;
  plan.decisions.compression = numbersOf({CompressKind::PowerSgd, 4});
  std::string text = planToJson(plan);
  for (const Decision *each : decisions()) {
    EXPECT_NE(text.find("\"" + each->key.str() + "\":"), std::string::npos) << each->key.str();
    EXPECT_NE(each->valueOf(plan.decisions), each->valueOf(Decisions())) << each->key.str();
  }
}

// Only the first and the last chunk may have no layers, but just embedding or head.
TEST(PlanJson, HasChunksWithoutLayersAtTheEndsAlone) {
  Plan plan = unusual(), back;
  auto cut = [&](LayerRuns first, LayerRuns second) {
    for (auto [stage, runs] : {std::pair(0, first), {1, second}}) {
      plan.stages[stage].chunks = runs;
      plan.stages[stage].firstLayer = runs.front().first;
      plan.stages[stage].lastLayer = runs.back().second;
    }
    plan.stages[0].recompute.clear();
    plan.stages[1].recompute.clear();
    back = Plan();
    return read(planToJson(plan), back);
  };
  EXPECT_EQ(cut({{0, -1}, {4, 3}}, {{0, 1}, {2, 3}}), "");
  EXPECT_EQ(back.stages[0].chunks, (LayerRuns{{0, -1}, {4, 3}}));
  EXPECT_NE(cut({{0, 1}, {4, 3}}, {{2, 1}, {2, 3}}).find("has the run [2, 1] in some stage"),
            std::string::npos);
  EXPECT_NE(cut({{0, -2}, {3, 3}}, {{0, 1}, {2, 2}}).find("has the run [0, -2] in some stage"),
            std::string::npos);
}

// A plan without the key has room for all rows.
TEST(PlanJson, SaysTheRoomOfExperts) {
  Plan plan = unusual();
  plan.decisions.foldedExperts = false;
  plan.decisions.ep = 2;
  plan.globalBatch = 192;
  plan.decisions.dp = 8;
  plan.decisions.cp = plan.decisions.contextInner = 1;
  plan.decisions.contextKind = ContextKind::Ring;
  EXPECT_EQ(planToJson(plan).find("expert_room"), std::string::npos);
  for (auto [room, text] :
       {std::pair(1000, "1"), {1250, "1.25"}, {1001, "1.001"}, {20500, "20.5"}}) {
    plan.decisions.expertRoomPerMille = room;
    Plan back, refused;
    std::string json = planToJson(plan), key = std::string("\"expert_room\": \"") + text + "\"";
    EXPECT_NE(json.find(key), std::string::npos) << json;
    ASSERT_EQ(read(json, back), "");
    EXPECT_EQ(back.decisions.expertRoomPerMille, room);
    EXPECT_NE(read(replaced(json, key, "\"expert_room\": \"0.5\""), refused), "");
  }
}

TEST(PlanJson, SaysWhatAllLayersRecompute) {
  Plan plan;
  ASSERT_EQ(read(replaced(planToJson(unusual()), "\"mixed\"", "\"full\""), plan), "");
  EXPECT_EQ(plan.decisions.recompute, Recompute::Full);
  EXPECT_EQ(plan.decisions.recomputeMost, Recompute::Full);
}

// A plan without the key has split experts, like a plan that has it. ep = 8 must then be among dp x
// cp = 8 ranks; folded experts may also be among those of tp.
TEST(PlanJson, SaysWhetherExpertsAreFolded) {
  std::string text = planToJson(unusual());
  const std::string one = ",\n    \"etp\": 1";
  auto foldsUnder = [&](const std::string &from, const std::string &to) {
    Plan plan;
    EXPECT_EQ(read(replaced(text, from, to), plan), "");
    return plan.decisions.foldedExperts;
  };
  EXPECT_TRUE(foldsUnder("\"ep\": 8", "\"ep\": 32"));
  EXPECT_FALSE(foldsUnder(one, ""));
  EXPECT_FALSE(foldsUnder(one, ",\n    \"etp\": 4"));
  Plan split = unusual();
  split.decisions.foldedExperts = false;
  EXPECT_EQ(planToJson(split).find("etp"), std::string::npos);
  auto errorOf = [&](const std::string &from, const std::string &to) {
    Plan plan;
    return read(replaced(text, from, to), plan);
  };
  EXPECT_EQ(errorOf("\"etp\": 1", "\"etp\": 2"),
            "a.json:20:5: error: plan key 'etp' is 2, wanted 1, for whole experts, or tp = 4");
  EXPECT_EQ(
      errorOf("\"sp\": 1", "\"sp\": 0"),
      "a.json:20:5: error: plan key 'etp' is 1 with sp 0: experts folded over tp need sequence "
      "parallelism");
  EXPECT_EQ(
      errorOf("\"ep\": 8", "\"ep\": 64"),
      "a.json:19:5: error: plan key 'ep' is 64 with dp 2, cp 4, tp 4, etp 1: ep has to divide "
      "dp x cp, and dp x cp x tp of folded experts");
  EXPECT_EQ(
      errorOf("\"ep\": 8" + one, "\"ep\": 32"),
      "a.json:19:5: error: plan key 'ep' is 32 with dp 2, cp 4, tp 4, etp tp: ep has to divide "
      "dp x cp, and dp x cp x tp of folded experts");
}

TEST(PlanJson, KeepsTensorsOfParts) {
  Plan plan = unusual(), again;
  plan.decisions.zeroGroup = 0;
  plan.decisions.microBatch = 4;
  plan.globalBatch = 2 * 4 * 8;
  plan.decisions.tensorOfParts = {1, 4, 2};
  std::string text = planToJson(plan);
  ASSERT_EQ(read(text, again), "");
  EXPECT_EQ(again.decisions, plan.decisions);
  EXPECT_EQ(planToJson(again), text);
  auto errorOf = [&](
                     TensorOfParts tensor, void (*change)(Decisions &) = [](Decisions &) {}) {
    Plan wrong = plan;
    wrong.decisions.tensorOfParts = tensor;
    change(wrong.decisions);
    wrong.globalBatch = 2 * wrong.decisions.microBatch * 8;
    Plan back;
    return read(planToJson(wrong), back);
  };
  EXPECT_EQ(errorOf({1, 4, 2}), "");
  for (TensorOfParts tensor : {TensorOfParts{1, 2}, {4, 8}})
    EXPECT_NE(errorOf(tensor).find("with tp 4: tp has to be the largest of tp_of_parts"),
              std::string::npos)
        << tensor[1];
  for (TensorOfParts tensor : {TensorOfParts{4, 4}, {4, 3}})
    EXPECT_NE(errorOf(tensor).find("with tp 4: some parts need fewer ranks than tp"),
              std::string::npos)
        << tensor[1];
  const std::string wrong = "plan key 'tp_of_parts' is 4-1 with ";
  EXPECT_NE(errorOf({4, 1}, [](Decisions &d) { d.microBatch = 2; }).find(wrong + "micro_batch 2: "),
            std::string::npos);
  EXPECT_NE(errorOf({4, 1}, [](Decisions &d) { d.zeroGroup = 2; }).find(wrong + "zero_group 2: "),
            std::string::npos);
  EXPECT_NE(
      errorOf({4, 1}, [](Decisions &d) { d.vocabOverPp = 1; }).find(wrong + "vocab_over_pp 1: "),
      std::string::npos);
  const std::string list = "\"tp_of_parts\": [\n      1,\n      4,\n      2\n    ]";
  for (const char *bad :
       {"[]", "[1, 4, 2, 1, 1]", "[1, 0]", "[1, \"4\"]", "[1, 1e9]", "4", "[1, 4294967297]"}) {
    Plan back;
    EXPECT_NE(read(replaced(text, list, std::string("\"tp_of_parts\": ") + bad), back)
                  .find("wanted ranks of tp of each part, of 1 to 4 parts"),
              std::string::npos)
        << bad;
  }
}

// In a group of 2 ranks of dp are 2 x 4 x 4 ranks of folded experts, and 2 x 4 of split ones.
TEST(PlanJson, HasAllExpertsInAGroupOfZero) {
  Plan plan = unusual(), again;
  plan.decisions.ep = 32;
  EXPECT_EQ(read(planToJson(plan), again), "");
  plan.decisions.dp = 4; // a group has 8 of 16 ranks of split experts
  plan.decisions.pp = 1;
  plan.decisions.ep = 16;
  plan.decisions.foldedExperts = false;
  EXPECT_NE(
      read(planToJson(plan), again)
          .find("plan key 'zero_group' is 2 with ep 16: the ranks of a group hold all experts"),
      std::string::npos);
}

// Only plans whose ranks do not meet in a ring name the kind.
TEST(PlanJson, SaysHowRanksOfContextParallelismMeet) {
  auto errorOf = [](const Plan &plan) {
    Plan again;
    return read(planToJson(plan), again);
  };
  auto readBack = [](const Plan &plan) {
    Plan again;
    EXPECT_EQ(read(planToJson(plan), again), "");
    return again.decisions;
  };
  Plan plan = unusual(), refused;
  Decisions &d = plan.decisions;
  for (int64_t inner : {1, 3, 4, 8}) {
    d.contextInner = inner;
    EXPECT_NE(errorOf(plan).find("plan key 'cp_inner' is " + std::to_string(inner) +
                                 " with cp 4: cp_kind=both needs a cp_inner that divides cp"),
              std::string::npos)
        << inner;
  }
  for (ContextKind kind : {ContextKind::AllToAll, ContextKind::AllGather}) {
    d.contextKind = kind;
    d.contextInner = 1;
    EXPECT_EQ(planToJson(plan).find("cp_inner"), std::string::npos);
    EXPECT_EQ(readBack(plan), d);
  }
  std::string ofGathers = planToJson(plan);
  EXPECT_NE(
      read(replaced(ofGathers, "\"all-gather\"", "\"gather\""), refused)
          .find("plan key 'cp_kind' is 'gather', wanted one of ring, all-to-all, both, all-gather"),
      std::string::npos);
  EXPECT_NE(
      read(replaced(ofGathers, "\"all-gather\"", "\"all-gather\", \"cp_inner\": 2"), refused)
          .find("plan key 'cp_inner' is 2 with cp_kind all-gather: cp_inner needs cp_kind=both"),
      std::string::npos);
  d.contextKind = ContextKind::Ring;
  EXPECT_EQ(planToJson(plan).find("cp_kind"), std::string::npos);
  EXPECT_EQ(readBack(plan), d);
  d.contextKind = ContextKind::AllToAll;
  d.dp *= d.cp;
  d.cp = 1;
  plan.globalBatch *= 4;
  EXPECT_NE(errorOf(plan).find(
                "plan key 'cp_kind' is all-to-all with cp 1: a kind of context parallelism "
                "needs cp of 2 or more"),
            std::string::npos);
}

// Only plans of pipelines whose stages share the vocabulary name it.
TEST(PlanJson, SaysHowStagesShareTheVocabularyOut) {
  Plan plan = unusual(), again;
  EXPECT_EQ(planToJson(plan).find("vocab"), std::string::npos);
  plan.decisions.schedule = ScheduleKind::VHalf;
  plan.decisions.zero = 1;
  plan.decisions.vocabOverPp = 2;
  plan.predicted.vocabularySeconds = 0.25;
  ASSERT_EQ(read(planToJson(plan), again), "");
  EXPECT_EQ(again.decisions, plan.decisions);
  EXPECT_EQ(again.predicted.vocabularySeconds, 0.25);
  EXPECT_EQ(planToJson(again), planToJson(plan));
  auto errorOf = [](const Plan &wrong) {
    Plan out;
    return read(planToJson(wrong), out);
  };
  plan.decisions.vocabOverPp = 3;
  EXPECT_NE(errorOf(plan).find("plan key 'vocab_over_pp' is 3, wanted 0 to 2"), std::string::npos);
  plan.decisions.vocabOverPp = 1;
  plan.decisions.schedule = ScheduleKind::ZeroBubbleV;
  EXPECT_NE(
      errorOf(plan).find("plan key 'vocab_over_pp' is 1 with schedule zb-v: vocabulary parallelism "
                         "needs schedule 1f1b or v-half"),
      std::string::npos)
      << errorOf(plan);
}

TEST(PlanJson, NamesTheKeyOfAWordThatDoesNotExist) {
  auto errorOf = [](const std::string &from, const std::string &to) {
    Plan plan;
    return read(replaced(planToJson(unusual()), from, to), plan);
  };
  EXPECT_NE(errorOf("\"searched\"", "\"best\"")
                .find("plan key 'placement' is 'best', wanted megatron or searched"),
            std::string::npos);
  EXPECT_NE(
      errorOf("\"dp tp cp pp\"", "\"dp tp cp\"")
          .find("plan key 'axis_order' is 'dp tp cp', wanted tp, cp, dp and pp in some order"),
      std::string::npos);
  EXPECT_NE(errorOf("\"virtual_stages\": 2", "\"virtual_stages\": 3")
                .find("plan key 'schedule' is wrong: schedule zb-v with 3 virtual stages"),
            std::string::npos);
}

// Tests the words of decisions in both directions.
#include "compiler/decide/decisions/Words.h"
#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"

#include "gtest/gtest.h"

using namespace dtc;

TEST(AxisOrder, IsReadAsItIsWritten) {
  EXPECT_EQ(orderText(kMegatronOrder), "tp cp dp pp");
  AxisOrder order{'c', 'd', 'p', 't'};
  do
    EXPECT_EQ(orderFrom(orderText(order)), order);
  while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orderFrom("tp tp dp pp"), std::nullopt);
  EXPECT_EQ(orderFrom("tp cp dp"), std::nullopt);
  EXPECT_EQ(orderFrom(""), std::nullopt);
}

TEST(RecomputeText, IsMixedWhereLayersDiffer) {
  Decisions d;
  EXPECT_EQ(recomputeText(d), "none");
  d.recomputeMost = Recompute::Selective;
  EXPECT_EQ(recomputeText(d), "mixed");
  d.recompute = Recompute::Selective;
  EXPECT_EQ(recomputeText(d), "selective");
}

TEST(ScheduleNames, TakeTheOldNameOfZbVByItsVirtualStages) {
  EXPECT_EQ(*scheduleFromPlan("zb-v", 2), ScheduleKind::ZeroBubbleV);
  EXPECT_FALSE(scheduleFromPlan("zb-v", 1));
  EXPECT_EQ(*scheduleFromPlan("zero-bubble", 1), ScheduleKind::ZeroBubbleH1);
  EXPECT_EQ(*scheduleFromPlan("zero-bubble", 2), ScheduleKind::ZeroBubbleV);
  EXPECT_FALSE(scheduleFromPlan("zero-bubble", 3));
  EXPECT_EQ(*scheduleFromPlan("interleaved", 3), ScheduleKind::Interleaved);
}

TEST(ScheduleNames, WantTheVirtualStagesOfTheSchedule) {
  EXPECT_EQ(*scheduleFromPlan("zb-2p", 1), ScheduleKind::ZeroBubble2P);
  EXPECT_EQ(*scheduleFromPlan("v-half", 2), ScheduleKind::VHalf);
  EXPECT_EQ(*scheduleFromPlan("v-min", 2), ScheduleKind::VMin);
  EXPECT_EQ(scheduleFromPlan("zb-2p", 2).error().message,
            "schedule zb-2p with 2 virtual stages does not exist");
  EXPECT_EQ(scheduleFromPlan("v-half", 1).error().note, "use 2");
  EXPECT_EQ(scheduleFromPlan("zb-w", 2).error().note,
            "schedules are gpipe, 1f1b, interleaved, zero-bubble, zb-v, zb-2p, v-half and "
            "v-min");
}

static std::string phraseOf(const Decisions &d, llvm::StringRef key) {
  for (const Decision *each : decisions())
    if (each->key == key)
      return each->phraseOf(d);
  return "no such key";
}

TEST(ContextKinds, AreReadAsTheyAreWritten) {
  for (ContextKind kind :
       {ContextKind::Ring, ContextKind::AllToAll, ContextKind::Both, ContextKind::AllGather})
    EXPECT_EQ(contextKindFrom(toString(kind)), kind);
  EXPECT_EQ(contextKindFrom("p2p"), std::nullopt);
}

TEST(Phrases, AreShort) {
  Decisions d;
  d.tp = 8;
  d.sequenceParallel = true;
  EXPECT_EQ(phraseOf(d, "tp"), "tp=8");
  EXPECT_EQ(phraseOf(d, "sp"), "sp=1");
  EXPECT_EQ(phraseOf(d, "etp"), "etp=tp");
  d.foldedExperts = true;
  EXPECT_EQ(phraseOf(d, "etp"), "etp=1");
  EXPECT_EQ(phraseOf(d, "tp_of_parts"), "one tp on all parts");
  d.tensorOfParts = {1, 8, 4};
  EXPECT_EQ(phraseOf(d, "tp_of_parts"), "tp by part 1-8-4");
  EXPECT_EQ(phraseOf(d, "schedule"), ""); // no pipeline
  EXPECT_EQ(phraseOf(d, "cp_kind"), "");  // no context parallelism
  d.cp = 8;
  EXPECT_EQ(phraseOf(d, "cp_kind"), "cp by ring");
  d.contextKind = ContextKind::Both;
  d.contextInner = 4;
  EXPECT_EQ(phraseOf(d, "cp_kind"), "cp by all-to-all in 4 and ring");
  d.pp = 4;
  d.schedule = ScheduleKind::Interleaved;
  d.virtualStages = 2;
  d.placement = 3;
  d.offloadOptimizer = true;
  EXPECT_EQ(phraseOf(d, "schedule"), "interleaved x2");
  EXPECT_EQ(phraseOf(d, "placement"), "placement searched");
  EXPECT_EQ(phraseOf(d, "offload_optimizer"), "optimizer on the host");
  EXPECT_EQ(phraseOf(d, "axis_order"), "order tp cp dp pp");
}

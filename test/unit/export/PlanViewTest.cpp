// Tests what exports read from a plan.
#include "ExportPlans.h"

#include "gtest/gtest.h"

using namespace dtc;
using namespace dtc::launch;

TEST(PlanView, HasChunksInTheOrderOfTheModel) {
  Plan plan = planOf({3, 5, 4, 4}, 2);
  plan.stages[0].recompute = {"full", "none", "none", "full", "selective", "none", "none"};
  SoftwareStack stack = plainStack();
  PlanView view(plan, stack);
  EXPECT_EQ(
      view.chunks,
      (std::vector<Chunk>{{0, 2, 0, 0, 1}, {3, 7, 1, 0, 0}, {8, 11, 0, 1, 1}, {12, 15, 1, 0, 0}}));
  EXPECT_EQ(view.layers, 16);
  EXPECT_FALSE(view.hasEvenChunks());
}

// Plans that people write have no chunks.
TEST(PlanView, TakesStagesForChunksWhereThereAreNone) {
  Plan plan = planOf({4});
  plan.stages[0].chunks.clear();
  plan.stages[0].lastLayer = 3;
  SoftwareStack stack = plainStack();
  EXPECT_EQ(PlanView(plan, stack).chunks, (std::vector<Chunk>{{0, 3, 0, 0, 0}}));
}

TEST(PlanView, FindsChunksThatTheScheduleHasElsewhere) {
  Plan plan = planOf({4, 4, 4, 4}, 2);
  SoftwareStack stack = plainStack();
  EXPECT_EQ(findMisplacedChunk(PlanView(plan, stack)), "");
  plan.decisions.schedule = ScheduleKind::ZeroBubbleV;
  EXPECT_EQ(findMisplacedChunk(PlanView(plan, stack)),
            "layers 8 to 11 are on stage 0, and the schedule zb-v has them on stage 1");
}

// A plan for a stack of 16 bits reduces in 16 bits whatever --grad-dtype was; f32 has none.
TEST(PlanView, TakesTheWidthOfGradientsFromRequestAndStack) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  EXPECT_EQ(PlanView(plan, stack).reduced, Width::Full);
  plan.origin.gradDtype = GradientType::BF16;
  EXPECT_EQ(PlanView(plan, stack).reduced, Width::Half);
  EXPECT_EQ(PlanView(plan, stack).accumulated, Width::Full);
  plan.origin.gradDtype = GradientType::F32;
  stack.reduceBytes = stack.gradientBytes = 2;
  EXPECT_EQ(PlanView(plan, stack).reduced, Width::Half);
  EXPECT_EQ(PlanView(plan, stack).accumulated, Width::Half);
  plan.precision = Precision::F32;
  EXPECT_EQ(PlanView(plan, stack).reduced, Width::Full);
  EXPECT_EQ(PlanView(plan, stack).accumulated, Width::Full);
}

TEST(PlanView, CountsBucketsInElements) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  plan.decisions.bucketBytes = 4000;
  EXPECT_EQ(PlanView(plan, stack).bucketElements(), 1000);
  plan.origin.gradDtype = GradientType::BF16;
  EXPECT_EQ(PlanView(plan, stack).bucketElements(), 2000);
}

TEST(PlanView, SharesWithinGroupsOfZero) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  plan.decisions.dp = 8;
  EXPECT_EQ(PlanView(plan, stack).shards(), 8);
  EXPECT_EQ(PlanView(plan, stack).replicas(), 1);
  plan.decisions.zeroGroup = 2;
  EXPECT_EQ(PlanView(plan, stack).shards(), 2);
  EXPECT_EQ(PlanView(plan, stack).replicas(), 4);
  plan.decisions.zero = 0;
  EXPECT_EQ(PlanView(plan, stack).replicas(), 8);
}

// The position of axes with one rank makes no difference.
TEST(PlanView, ComparesTheOrderOfAxesWithSeveralRanks) {
  Plan plan = planOf({4, 4});
  SoftwareStack stack = plainStack();
  plan.decisions.order = {'d', 't', 'c', 'p'};
  EXPECT_TRUE(PlanView(plan, stack).liesAs(kMegatronOrder));
  plan.decisions.order = {'t', 'c', 'p', 'd'};
  EXPECT_FALSE(PlanView(plan, stack).liesAs(kMegatronOrder));
}

TEST(PlanView, NotesOrdersAndStagesThatLieElsewhere) {
  Plan plan = planOf({4, 4});
  SoftwareStack stack = plainStack();
  std::vector<std::string> notes;
  noteRanks(PlanView(plan, stack), "X", kMegatronOrder, notes);
  EXPECT_TRUE(notes.empty());
  std::swap(plan.stages[0].ranks, plan.stages[1].ranks);
  noteRanks(PlanView(plan, stack), "X", kMegatronOrder, notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "the plan has its stages on the devices 2 to 3, 0 to 1 of the system, and X on "
            "ranks in their order: list the nodes to it in that order");
  plan.decisions.order = {'t', 'c', 'p', 'd'};
  noteRanks(PlanView(plan, stack), "X", kMegatronOrder, notes);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[1].substr(0, 64),
            "on the links the plan has its axes in the order tp cp pp dp, the");
}

TEST(PlanView, FindsExpertsAndSplitKvGroupsByPlacements) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  plan.tensors["layers.0.w"] = {{"dp", "replicate"}, {"tp", "shard(0)"}};
  EXPECT_FALSE(PlanView(plan, stack).hasExperts);
  EXPECT_FALSE(PlanView(plan, stack).splitsKvGroups);
  plan.tensors["layers.0.experts.*.w"] = {{"tp", "shard(0)/replicate"}};
  EXPECT_TRUE(PlanView(plan, stack).hasExperts);
  EXPECT_TRUE(PlanView(plan, stack).splitsKvGroups);
}

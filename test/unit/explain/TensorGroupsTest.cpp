// Tests that parameters of identical layers have one name.
#include "compiler/show/explain/TensorGroups.h"

#include <gtest/gtest.h>

using namespace dtc;

TEST(LayerPattern, HidesTheLayer) {
  EXPECT_EQ(layerPattern("transformer.h.7.mlp.c_fc.weight"), "transformer.h.*.mlp.c_fc.weight");
  EXPECT_EQ(layerPattern("lm_head.weight"), "lm_head.weight");
}

// For experts the number of the layer is hidden and that of the expert stays.
TEST(LayerPattern, HidesTheFirstNumberOnly) {
  EXPECT_EQ(layerPattern("model.layers.3.experts.5.w1"), "model.layers.*.experts.5.w1");
}

TEST(GroupTensors, JoinsWhatIsPlacedAlike) {
  Plan plan;
  plan.tensors["h.0.w"]["tp"] = "shard(1)";
  plan.tensors["h.1.w"]["tp"] = "shard(1)";
  plan.tensors["h.2.w"]["tp"] = "replicate";
  plan.tensors["head"]["tp"] = "shard(0)";
  std::vector<TensorGroup> groups = groupTensors(plan);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].pattern, "h.*.w");
  EXPECT_EQ(groups[0].count, 2);
  EXPECT_EQ(groups[1].pattern, "h.2.w"); // alone because of its placement
  EXPECT_EQ(groups[1].count, 1);
  EXPECT_EQ(groups[2].placements.at("tp"), "shard(0)");
}

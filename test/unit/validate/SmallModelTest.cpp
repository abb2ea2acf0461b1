// Small versions of plans and models must keep the properties that plans may fail on.
#include "compiler/measure/validate/SmallModel.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dtc {
namespace {

Plan planOf(int64_t dp, int64_t tp, int64_t pp) {
  Plan plan;
  plan.decisions.dp = dp;
  plan.decisions.tp = tp;
  plan.decisions.pp = pp;
  plan.decisions.microBatch = 4;
  plan.decisions.numMicroBatches = 32;
  plan.decisions.zero = 3;
  plan.decisions.sequenceParallel = true;
  return plan;
}

TEST(SmallPlan, KeepsEveryKind) {
  Result<SmallPlan> small = shrinkPlan(planOf(64, 8, 16), 8);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->decisions.dp, 2);
  EXPECT_EQ(small->decisions.tp, 2);
  EXPECT_EQ(small->decisions.pp, 2);
  EXPECT_EQ(small->decisions.microBatch, 2);
  EXPECT_EQ(small->decisions.numMicroBatches, 4);
  EXPECT_EQ(small->globalBatch, 16);
  EXPECT_EQ(small->pins().at("zero"), "3");
  EXPECT_EQ(small->pins().at("sp"), "1");
  EXPECT_EQ(small->pins().at("schedule"), "1f1b");
}

TEST(SmallPlan, KeepsTheOrderOfAxes) {
  Plan plan = planOf(64, 8, 16);
  EXPECT_EQ(shrinkPlan(plan, 8)->pins().count("zero_group"), 0u);
  EXPECT_EQ(shrinkPlan(plan, 8)->pins().count("axis_order"), 0u); // the order is Megatron's
  plan.decisions.order = {'t', 'c', 'p', 'd'};
  EXPECT_EQ(shrinkPlan(plan, 8)->pins().at("axis_order"), "tp-cp-pp-dp");
}

TEST(SmallPlan, HasTwoGroupsOfTwo) {
  Plan plan = planOf(64, 8, 1);
  plan.decisions.zeroGroup = 8;
  EXPECT_EQ(shrinkPlan(plan, 8)->pins().at("zero_group"), "2");
  EXPECT_EQ(shrinkPlan(plan, 8)->decisions.dp, 4);
  EXPECT_EQ(shrinkPlan(plan, 8)->decisions.tp, 2);
  // there are no ranks for the group
  EXPECT_EQ(shrinkPlan(plan, 4)->pins().count("zero_group"), 0u);
}

TEST(SmallPlan, WidensWhatRanksAllow) {
  Result<SmallPlan> small = shrinkPlan(planOf(64, 4, 1), 8);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->decisions.tp, 4);
  EXPECT_EQ(small->decisions.dp, 2);
  EXPECT_EQ(small->pins().count("schedule"), 0u);
}

TEST(SmallPlan, SaysHowManyRanksAreNeeded) {
  Result<SmallPlan> small = shrinkPlan(planOf(64, 8, 16), 4);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().message,
            "--ranks 4 can't show a plan with tp dp pp, each over two ranks at least");
  EXPECT_EQ(small.error().note, "use --ranks 8");
}

nlohmann::json shrink(const std::string &config, const Plan &plan) {
  Result<SmallPlan> small = shrinkPlan(plan, 8);
  EXPECT_TRUE(small.ok());
  Result<SmallModel> model = shrinkModel("config.json", config, plan.decisions, small->decisions);
  EXPECT_TRUE(model.ok());
  return nlohmann::json::parse(model->config);
}

TEST(SmallModel, KeepsWhatDivides) {
  nlohmann::json config =
      shrink(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
                 "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
                 "vocab_size": 128256, "tie_word_embeddings": false, "attention_bias": true})",
             planOf(8, 8, 4));
  EXPECT_EQ(config["num_hidden_layers"], 2);
  EXPECT_EQ(config["num_key_value_heads"], 2); // equal to the number of tensor-parallel ranks
  EXPECT_EQ(config["num_attention_heads"], 4);
  EXPECT_EQ(config["hidden_size"], 32);
  EXPECT_EQ(config["intermediate_size"], 112);
  EXPECT_EQ(config["vocab_size"].get<int>() % 2, 0);
  EXPECT_EQ(config["attention_bias"], true);
}

TEST(SmallModel, KeepsWhatDoesNot) {
  nlohmann::json config =
      shrink(R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 29,
                 "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18945,
                 "vocab_size": 151645})",
             planOf(1, 8, 2));
  // There are fewer kv heads than ranks, and an odd number of query heads each. Tensor parallelism
  // is 4 wide.
  EXPECT_EQ(config["num_key_value_heads"], 2);
  EXPECT_EQ(config["num_attention_heads"], 6);
  EXPECT_EQ(config["num_hidden_layers"].get<int>() % 2, 1);
  EXPECT_NE(config["intermediate_size"].get<int>() % 4, 0);
  EXPECT_NE(config["vocab_size"].get<int>() % 4, 0);
}

TEST(SmallModel, ReadsGpt2sNames) {
  nlohmann::json config = shrink(
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null,
          "n_positions": 1024, "vocab_size": 50257, "attn_pdrop": 0.1})",
      planOf(2, 2, 1));
  EXPECT_EQ(config["n_layer"], 2);
  EXPECT_EQ(config["n_embd"].get<int>(), 8 * config["n_head"].get<int>());
  EXPECT_EQ(config["n_inner"].get<int>(), 4 * config["n_embd"].get<int>());
  EXPECT_EQ(config["n_positions"], 64);
  EXPECT_EQ(config["vocab_size"].get<int>() % 2, 1);
  EXPECT_EQ(config["attn_pdrop"], 0.1);
}

TEST(SmallModel, ReadsGpt2sOtherNames) {
  nlohmann::json config = shrink(R"({"model_type": "gpt2", "hidden_size": 768, "n_layer": 12,
                                     "num_attention_heads": 12, "max_position_embeddings": 1024})",
                                 planOf(2, 2, 1));
  EXPECT_EQ(config["n_embd"].get<int>(), 8 * config["n_head"].get<int>());
  EXPECT_EQ(config["n_positions"], 64);
  for (const char *name : {"hidden_size", "num_attention_heads", "max_position_embeddings",
                           "num_key_value_heads", "intermediate_size"})
    EXPECT_FALSE(config.contains(name)) << name;
}

TEST(SmallModel, KeepsThePaddingRowInTheTable) {
  const std::pair<const char *, int> cases[] = {
      {"0", 0}, {"128000", 63}, {"-1", -1}, {"-5000", -64}};
  for (auto [padding, small] : cases) {
    nlohmann::json config = shrink(std::string(R"({"model_type": "llama", "hidden_size": 4096,
                 "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336,
                 "vocab_size": 128256, "pad_token_id": )") +
                                       padding + "}",
                                   planOf(8, 8, 4));
    ASSERT_EQ(config["vocab_size"], 64);
    EXPECT_EQ(config["pad_token_id"], small);
    EXPECT_EQ(config["num_key_value_heads"], config["num_attention_heads"]);
  }
}

TEST(SmallModel, RefusesWhatIsNoConfig) {
  Plan plan = planOf(2, 1, 1);
  EXPECT_FALSE(shrinkModel("c.json", "[1]", plan.decisions, plan.decisions).ok());
  EXPECT_FALSE(shrinkModel("c.json", "{", plan.decisions, plan.decisions).ok());
}

} // namespace
} // namespace dtc

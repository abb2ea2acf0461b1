// Exports of single plans: what only some launchers need.
#include "ExportPlans.h"

#include "gtest/gtest.h"

using namespace dtc;
using namespace dtc::launch;

namespace {

std::string textOf(const Plan &plan, const SoftwareStack &stack, Launcher launcher) {
  Result<ExportedPlan> exported = exportPlan(plan, stack, launcher);
  return exported ? exported->text : exported.error().message;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(Export, KnowsLaunchersByName) {
  ASSERT_EQ(launcherNames().size(), 5u);
  for (size_t i = 0; i < launcherNames().size(); ++i)
    EXPECT_EQ(launcherFrom(launcherNames()[i]), static_cast<Launcher>(i));
  EXPECT_FALSE(launcherFrom("nemo"));
}

// Summed up in 32 bits, sent in 16.
TEST(Export, TellsMegatronBothWidthsOfGradients) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  std::string text = textOf(plan, stack, Launcher::MegatronLm);
  EXPECT_TRUE(has(text, "--accumulate-allreduce-grads-in-fp32\n"));
  EXPECT_FALSE(has(text, "--grad-reduce-in-bf16"));
  plan.origin.gradDtype = "bf16";
  text = textOf(plan, stack, Launcher::MegatronLm);
  EXPECT_TRUE(has(text, "--grad-reduce-in-bf16\n"));
  EXPECT_TRUE(has(text, "--ddp-param-name-patterns-for-fp32-local-accumulation all\n"));
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MegatronBridge),
                  "config.ddp.param_name_patterns_for_fp32_local_accumulation = (\"all\",)\n"));
  stack.gradientBytes = 2;
  EXPECT_FALSE(has(textOf(plan, stack, Launcher::MegatronLm), "fp32-local-accumulation"));
}

// Megatron-Bridge's own default is another one than Megatron-Core's.
TEST(Export, TellsMegatronBridgeTheSizeOfBuckets) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MegatronBridge), "bucket_size=40000000)"));
  plan.decisions.dp = plan.devices = 64;
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MegatronBridge), "bucket_size=64000000)"));
  plan.decisions.bucketBytes = 4 << 20;
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MegatronBridge), "bucket_size=1048576)"));
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MegatronLm), "--ddp-bucket-size 1048576\n"));
}

// The node has 8 devices: tp 4 and 2 of fsdp, which goes on between nodes.
TEST(Export, FillsMaxTextsNodesWithTheInnermostAxes) {
  Plan plan = planOf({4});
  Decisions &d = plan.decisions;
  d.tp = 4;
  d.dp = 16;
  d.zero = 3;
  plan.devices = 64;
  plan.nodes = 8;
  plan.globalBatch = 32;
  std::string text = textOf(plan, plainStack(), Launcher::MaxText);
  for (const char *line :
       {"ici_tensor_parallelism: 4\n", "ici_fsdp_parallelism: 2\n", "dcn_fsdp_parallelism: 8\n",
        "dcn_tensor_parallelism: 1\n", "ici_data_parallelism: 1\n", "per_device_batch_size: 0.25\n",
        "gradient_accumulation_steps: 2\n"})
    EXPECT_TRUE(has(text, line)) << line;
  d.order = {'d', 't', 'c', 'p'};
  text = textOf(plan, plainStack(), Launcher::MaxText);
  EXPECT_TRUE(has(text, "ici_fsdp_parallelism: 8\n"));
  EXPECT_TRUE(has(text, "dcn_tensor_parallelism: 4\n"));
}

// 6 devices a node, of which tp 4 fills neither all nor a divisor.
TEST(Export, RefusesNodesThatNoAxesFill) {
  Plan plan = planOf({4});
  plan.decisions.tp = 4;
  plan.decisions.dp = 1;
  plan.devices = 4;
  plan.nodes = 1;
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::MaxText), "ici_tensor_parallelism: 4\n"));
  plan.decisions.tp = 9;
  plan.devices = 9;
  plan.nodes = 2;
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::MaxText),
                  "MaxText has axes whose ranks within a node fill it"));
}

// Files are read by bash, Python and YAML: a name ends no comment and no string.
TEST(Export, KeepsNamesWithinTheirComments) {
  Plan plan = planOf({4});
  plan.modelName = "a\"\"\"b\\\ntouch c";
  std::string text = textOf(plan, plainStack(), Launcher::MegatronBridge);
  EXPECT_EQ(text.substr(0, 37), R"("""dtc's plan of 'a\"\"\"b\\?touch c')");
  for (Launcher launcher : {Launcher::MegatronLm, Launcher::MegatronBridge})
    EXPECT_FALSE(has(textOf(plan, plainStack(), launcher), "\ntouch"));
}

TEST(Export, TellsDeepSpeedItsGroups) {
  Plan plan = planOf({4});
  plan.decisions.dp = plan.devices = 8;
  plan.decisions.zeroGroup = 2;
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::DeepSpeed),
                  "DeepSpeed has groups of ZeRO-3 alone (MiCS)"));
  plan.decisions.zero = 3;
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::DeepSpeed), "\"mics_shard_size\": 2"));
}

// The stack of plans for GPUs is that of GPUs.
TEST(Export, TakesTheStackThatStandsForDtcOnGpus) {
  Plan plan = planOf({4});
  Result<SoftwareStack> stack = stackOf(plan);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->name, "dtc-gpu");
  plan.origin.software = "no-such-stack";
  EXPECT_FALSE(stackOf(plan));
}

#include "compiler/show/export/Export.h"
// Tests exports of single plans: the parts that only some launchers need.
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

// Gradients are summed in 32 bits and sent in 16.
TEST(Export, TellsMegatronBothWidthsOfGradients) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  std::string text = textOf(plan, stack, Launcher::MegatronLm);
  EXPECT_TRUE(has(text, "--accumulate-allreduce-grads-in-fp32\n"));
  EXPECT_FALSE(has(text, "--grad-reduce-in-bf16"));
  plan.origin.gradDtype = GradientType::BF16;
  text = textOf(plan, stack, Launcher::MegatronLm);
  EXPECT_TRUE(has(text, "--grad-reduce-in-bf16\n"));
  EXPECT_TRUE(has(text, "--ddp-param-name-patterns-for-fp32-local-accumulation all\n"));
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MegatronBridge),
                  "config.ddp.param_name_patterns_for_fp32_local_accumulation = (\"all\",)\n"));
  stack.gradientBytes = 2;
  EXPECT_FALSE(has(textOf(plan, stack, Launcher::MegatronLm), "fp32-local-accumulation"));
}

// Megatron-Bridge's own default differs from Megatron-Core's.
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

// The node has 8 devices: tp 4, and 2 of fsdp, which continues between nodes.
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

// A node has 6 devices, of which tp 4 fills neither all nor a divisor.
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

// Files are read by bash, Python and YAML, so a name must not end a comment or a string.
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
  auto textFor = [&](llvm::StringRef version) {
    Result<ExportedPlan> exported = exportPlan(plan, plainStack(), Launcher::DeepSpeed, version);
    return exported ? exported->text : exported.error().message;
  };
  EXPECT_TRUE(has(textFor("edaa7221"), "DeepSpeed has groups of ZeRO-3 alone (MiCS)"));
  plan.decisions.zero = 3;
  EXPECT_TRUE(has(textFor("edaa7221"), "\"mics_shard_size\": 2"));
  EXPECT_TRUE(has(textFor(""), "DeepSpeed has ZeRO over all of dp, and the plan has groups of 2"));
}

TEST(Export, WritesForTheVersionThatIsAskedFor) {
  Plan plan = planOf({4});
  plan.decisions.zero = 3;
  SoftwareStack stack = plainStack();
  Result<ExportedPlan> newest = exportPlan(plan, stack, Launcher::TorchTitan),
                       commit = exportPlan(plan, stack, Launcher::TorchTitan, "b5bcd76c");
  ASSERT_TRUE(newest && commit);
  EXPECT_TRUE(has(newest->text, "written for torchtitan 0.3.0"));
  EXPECT_TRUE(has(newest->text, "config.training.local_batch_size = 1\n"));
  EXPECT_TRUE(has(commit->text, "written for torchtitan b5bcd76c"));
  EXPECT_TRUE(has(commit->text, "config.training.num_tokens_per_microbatch_per_dp_rank = 1024\n"));
  EXPECT_FALSE(exportPlan(plan, plainStack(), Launcher::TorchTitan, "0.1"));
}

// A user should have to correct a plan only once.
TEST(Export, ListsAllMisfitsWithTheCommandThatMendsThem) {
  Plan plan = planOf({4});
  plan.decisions.zero = 2;
  plan.precision = Precision::F16;
  plan.optimizer = OptimizerKind::Lars;
  std::string text = textOf(plan, plainStack(), Launcher::MaxText);
  EXPECT_TRUE(has(text, "MaxText can't express 3 decisions of the plan; plan again with "
                        "'--stack maxtext'\n"));
  for (const char *line :
       {"\n  MaxText has ZeRO 0, 1 and 3, and the plan has ZeRO 2",
        "\n  MaxText trains in bf16, f32 and fp8, and the plan is for f16",
        "\n  MaxText has the optimizers adamw and sgd, and the plan is for lars"})
    EXPECT_TRUE(has(text, line)) << line;
  plan.origin.model = "my model.json";
  plan.origin.topology = "dgx-h100";
  plan.origin.nodes = 1;
  Result<ExportedPlan> exported = exportPlan(plan, plainStack(), Launcher::MaxText);
  ASSERT_FALSE(exported);
  EXPECT_TRUE(has(exported.error().note,
                  "dtc plan 'my model.json' --seq-len 1024 --topology dgx-h100 --nodes 1 "
                  "--devices 2 --global-batch 4 --precision bf16 --optimizer adamw "
                  "--stack maxtext -o plan.json"));
}

// Launchers assert these conditions when they build the model.
TEST(Export, RefusesSizesThatTensorParallelismDoesNotDivide) {
  Plan plan = planOf({4});
  Decisions &d = plan.decisions;
  d.tp = 2;
  plan.devices = d.devices();
  plan.architecture.heads = plan.architecture.kvHeads = 25;
  plan.architecture.inner = 6400;
  std::string text = textOf(plan, plainStack(), Launcher::MegatronLm);
  EXPECT_TRUE(
      has(text, "attention heads in a number that tp divides, and the plan has 25 with tp 2"));
  plan.architecture.heads = plan.architecture.kvHeads = 12;
  EXPECT_TRUE(
      has(textOf(plan, plainStack(), Launcher::MegatronLm), "--tensor-model-parallel-size 2"));
  plan.architecture.inner = 6401;
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::MegatronLm),
                  "inner widths in a number that tp divides, and the plan has 6401 with tp 2"));
  plan.architecture.inner = 6400;
  plan.architecture.vocabulary = 50257; // Megatron pads it
  EXPECT_TRUE(
      has(textOf(plan, plainStack(), Launcher::MegatronLm), "--tensor-model-parallel-size 2"));
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::MaxText), "50257 with tp 2"));
  plan.architecture.vocabulary = 0;
  plan.architecture.kvHeads = 3;
  plan.architecture.heads = 12;
  d.tp = 2;
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::MegatronLm),
                  "kv heads in a number that tp divides or is a multiple of"));
}

TEST(Export, RefusesFrozenParametersWhereTheModelIsTheLaunchers) {
  Plan plan = planOf({4});
  plan.frozenParameters = 77;
  const std::string refused =
      "trains all parameters of its models, and the plan has 77 that are frozen";
  for (Launcher launcher :
       {Launcher::MegatronLm, Launcher::MegatronBridge, Launcher::TorchTitan, Launcher::MaxText})
    EXPECT_TRUE(has(textOf(plan, plainStack(), launcher), refused));
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::MegatronLm),
                  "; plan again with a model without 'frozen'"));
  plan.decisions.zero = 2;
  Result<ExportedPlan> exported = exportPlan(plan, plainStack(), Launcher::DeepSpeed);
  ASSERT_TRUE(exported.ok()) << exported.error().message;
  EXPECT_TRUE(llvm::any_of(exported->notes, [](const std::string &note) {
    return has(note, "the model code freezes 77 parameters");
  }));
}

TEST(Export, TellsTheCapacityOfExperts) {
  Plan plan = planOf({4});
  plan.decisions.ep = 2;
  plan.decisions.zero = 3;
  plan.architecture.capacity = 4;
  std::string text = textOf(plan, plainStack(), Launcher::MegatronLm);
  EXPECT_TRUE(has(text, "--moe-expert-capacity-factor 4\n"));
  EXPECT_TRUE(has(text, "--moe-pad-expert-input-to-capacity\n"));
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::MaxText), "\ncapacity_factor: 4\n"));
  EXPECT_TRUE(has(textOf(plan, plainStack(), Launcher::TorchTitan), "drops no tokens"));
  plan.architecture.capacity = 1; // their share with balanced routing
  EXPECT_FALSE(has(textOf(plan, plainStack(), Launcher::MegatronLm), "capacity"));
}

// MaxText's stack has the cost of what save_qkv_proj keeps, and other stacks that of all.
TEST(Export, NamesTheRematPolicyThatWasCosted) {
  Plan plan = planOf({4});
  SoftwareStack stack = plainStack();
  stack.keptShare = 0.25;
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MaxText), "remat_policy: \"save_qkv_proj\"\n"));
  stack.keptShare = 1;
  EXPECT_TRUE(has(textOf(plan, stack, Launcher::MaxText), "remat_policy: \"none\"\n"));
}

// On GPUs the stack that replaces dtc there is used.
TEST(Export, TakesTheStackThatStandsForDtcOnGpus) {
  Plan plan = planOf({4});
  Result<SoftwareStack> stack = stackOf(plan);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->name, "dtc-gpu");
  plan.origin.software = "no-such-stack";
  EXPECT_FALSE(stackOf(plan));
}

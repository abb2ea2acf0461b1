// Schedules whole training steps of small models on several meshes and emits them. dtrun's verifier
// and dtc-verify-exec must accept the results.
#include "compiler/build/emit/Emit.h"
#include "compiler/build/emit/Inspect.h"
#include "compiler/describe/frontend/Frontend.h"
#include "dialects/graph/NnOps.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/StepLength.h"
#include "runtime/format/Repeats.h"
#include "runtime/format/Verify.h"
#include "test/unit/schedule/StepPipeline.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace dtc;

namespace {
struct Plan {
  int64_t dp = 1, tp = 1;
  bool sequenceParallel = false;
  int64_t zero = 0, microBatches = 1;
  int64_t bucketBytes = 25 << 20;
  bool overlap = true;
  bool roll = false; // the instructions are counted one by one
};

class StepTest : public ::testing::Test {
protected:
  StepTest() { context.loadDialect<graph::GraphDialect, shard::ShardDialect>(); }

  // Returns a small model with sizes that cannot be divided by 2 and 4 ranks.
  OwningOpRef<ModuleOp> gpt2(double dropout = 0, int64_t layers = 2) {
    Gpt2Config config;
    config.vocabulary = 61;
    config.positions = 8;
    config.width = 24;
    config.layers = layers;
    config.heads = 3;
    config.residualDropout = config.embeddingDropout = config.attentionDropout = dropout;
    return completed(buildGpt2(&context, config, 8));
  }

  OwningOpRef<ModuleOp> llama() {
    LlamaConfig config;
    config.vocabulary = 61;
    config.width = 32;
    config.innerWidth = 48;
    config.layers = 2;
    config.heads = 4;
    config.kvHeads = 2;
    config.headDim = 8;
    return completed(buildLlama(&context, config, 8));
  }

  // Returns the program of the scheduled module, or null after a failure.
  exec::ProgramOp schedule(ModuleOp module, const Plan &plan) {
    ScheduleOptions options;
    options.bucketBytes = plan.bucketBytes;
    options.overlap = plan.overlap;
    options.roll = plan.roll;
    if (!test::scheduleModel(
            module, {plan.dp, plan.tp, plan.sequenceParallel, plan.zero, plan.microBatches},
            2 * plan.dp, options))
      return {};
    return *module.getOps<exec::ProgramOp>().begin();
  }

  // Schedules and emits. The executable passes the runtime's checks, which emitExecutable applies.
  exec::ProgramOp check(ModuleOp module, const Plan &plan) {
    exec::ProgramOp program = schedule(module, plan);
    EXPECT_TRUE(program);
    if (!program)
      return program;
    EmitInfo info;
    info.modelName = "small";
    info.sequenceLength = 8;
    info.defaultLearningRate = 1e-3;
    std::vector<char> code(100, '\0');
    Result<std::vector<uint8_t>> file = emitExecutable(program, ProgramCode::ofCpu(code), info);
    EXPECT_TRUE(file.ok()) << (file ? "" : file.error().text());
    return program;
  }

  template <typename Op> static int64_t count(exec::ProgramOp program, auto matches) {
    return llvm::count_if(getInstructionsOf<Op>(program), matches);
  }
  static int64_t countCollectives(exec::ProgramOp program, exec::CollectiveKind kind,
                                  int64_t stream) {
    return count<exec::CollectiveOp>(program, [&](exec::CollectiveOp op) {
      return op.getKind() == kind && static_cast<int64_t>(op.getStream()) == stream;
    });
  }

  MLIRContext context;
};
} // namespace

TEST_F(StepTest, OneRankNeedsNoCollective) {
  for (auto &module : {gpt2(), llama()}) {
    exec::ProgramOp program = check(*module, {});
    ASSERT_TRUE(program);
    EXPECT_EQ(count<exec::CollectiveOp>(program, [](auto) { return true; }), 0);
    EXPECT_EQ(program.getStreams(), 1u);
  }
}

TEST_F(StepTest, ParametersAndStateAreUpdatedInPlace) {
  OwningOpRef<ModuleOp> module = gpt2();
  exec::ProgramOp program = check(*module, {});
  ASSERT_TRUE(program);
  // The count of skipped steps is excepted, because it is kept and reported.
  count<exec::CopyOp>(program, [](exec::CopyOp copy) {
    auto root = exec::getRange(copy.getDst()).root.getDefiningOp<exec::BufferOp>();
    if (root.getPersistent())
      EXPECT_EQ(root.getName(), "skipped_steps");
    return root.getPersistent();
  });
}

TEST_F(StepTest, MicroBatchesAddUpGradients) {
  OwningOpRef<ModuleOp> module = gpt2();
  exec::ProgramOp program = check(*module, {.microBatches = 3});
  ASSERT_TRUE(program);
  // Each matrix product adds to the gradient of its weight itself, and the first micro-batch starts
  // the sums. The head's product is one addend of the tied embedding's gradient.
  int64_t adding = count<exec::GemmOp>(program, [](exec::GemmOp gemm) {
    return gemm.getBeta().convertToFloat() == 1 && gemm.getStartsSum();
  });
  EXPECT_EQ(adding, 2 * 4 + 1);
  // Only the first of two addends of one sum, as the tied embedding has, starts the sum.
  llvm::DenseMap<Value, int> starts;
  for (exec::InstructionOpInterface op : getInstructions(program))
    if (op.startsSum())
      for (Value written : op.getWrittenBuffers())
        ++starts[exec::getRange(written).root];
  EXPECT_GT(starts.size(), 9u);
  for (auto [sum, count] : starts)
    EXPECT_EQ(count, 1) << exec::getName(sum).str();
}

// The instructions that a step executes grow with micro-batches, but the program does not.
TEST_F(StepTest, MicroBatchesAddNoInstruction) {
  OwningOpRef<ModuleOp> few = gpt2(0.1), many = gpt2(0.1);
  exec::ProgramOp a = check(*few, {.dp = 2, .zero = 1, .microBatches = 2});
  exec::ProgramOp b = check(*many, {.dp = 2, .zero = 1, .microBatches = 40});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(getInstructions(a).size(), getInstructions(b).size());
  auto buffers = [](exec::ProgramOp program) {
    return llvm::range_size(program.getBody().getOps<exec::BufferOp>());
  };
  EXPECT_EQ(buffers(a), buffers(b));
  auto entry = *b.getBody().getOps<exec::EntryOp>().begin();
  EXPECT_EQ(entry.getTasks().size(), 2u * 40 + 3); // loss, gradients, update
}

// Equal layers do not make it grow either. Only instructions whose memory is not at equal strides
// remain.
TEST_F(StepTest, LayersAddHardlyAnInstruction) {
  auto countFor = [&](int64_t layers, int64_t dp) {
    OwningOpRef<ModuleOp> module = gpt2(0.1, layers);
    exec::ProgramOp program = check(*module, {.dp = dp, .microBatches = 2, .roll = true});
    EXPECT_TRUE(program);
    int64_t instructions = 0;
    if (program)
      program.walk([&](exec::InstructionOpInterface) { ++instructions; });
    return instructions;
  };
  // A layer has more than 70 instructions. With data parallelism a bucket ends in some layers.
  for (auto [dp, ofLayer] : {std::pair<int64_t, int64_t>{1, 4}, {2, 12}}) {
    int64_t few = countFor(6, dp), many = countFor(24, dp);
    EXPECT_LT(many - few, 18 * ofLayer) << "dp " << dp << ": " << few << " and " << many;
  }
}

// The loader counts in the same way, and its limits apply.
TEST_F(StepTest, KnowsHowMuchAStepRuns) {
  for (bool roll : {false, true})
    for (Plan plan : {Plan{}, Plan{.dp = 2, .zero = 1, .microBatches = 3},
                      Plan{.dp = 2, .tp = 2, .zero = 3, .microBatches = 5}}) {
      plan.roll = roll;
      OwningOpRef<ModuleOp> module = gpt2(0.1, 4);
      exec::ProgramOp program = schedule(*module, plan);
      ASSERT_TRUE(program);
      EmitInfo info;
      info.modelName = "small";
      info.sequenceLength = 8;
      std::vector<char> code(100, '\0');
      Result<std::vector<uint8_t>> bytes = emitExecutable(program, ProgramCode::ofCpu(code), info);
      ASSERT_TRUE(bytes.ok());
      std::vector<std::max_align_t> aligned(bytes->size() / sizeof(std::max_align_t) + 1);
      std::memcpy(aligned.data(), bytes->data(), bytes->size());
      const format::Manifest *manifest = nullptr;
      ASSERT_TRUE(format::verifyExecutable(
                      {reinterpret_cast<const uint8_t *>(aligned.data()), bytes->size()},
                      "small.dte", manifest)
                      .ok());
      const format::Program &written = *manifest->programs()->Get(0);
      StepLength longest;
      for (const format::Entry *entry : *written.entries()) {
        StepLength length;
        for (const format::Run *run : *entry->order()) {
          const format::Task &task = *written.tasks()->Get(run->task());
          std::vector<uint32_t> layers = format::countLayers(task);
          for (uint32_t i = 0; i < layers.size(); ++i) {
            const format::Instruction &each = *task.instructions()->Get(i);
            length.instructions += layers[i];
            if (each.op_type() == format::Op::Record || each.op_type() == format::Op::Wait ||
                each.op_type() == format::Op::Collective || each.op_type() == format::Op::Transfer)
              length.stops += layers[i];
          }
        }
        longest.instructions = std::max(longest.instructions, length.instructions);
        longest.stops = std::max(longest.stops, length.stops);
      }
      StepLength known = lengthOfStep(program);
      EXPECT_EQ(known.instructions, longest.instructions) << plan.dp << ", rolled " << roll;
      EXPECT_EQ(known.stops, longest.stops) << plan.dp << ", rolled " << roll;
      EXPECT_EQ(known.stops > 0, plan.dp > 1);
    }
}

TEST_F(StepTest, DataParallelReductionsOverlap) {
  OwningOpRef<ModuleOp> module = gpt2();
  exec::ProgramOp program = check(*module, {.dp = 2, .microBatches = 2});
  ASSERT_TRUE(program);
  EXPECT_EQ(program.getStreams(), 2u);
  EXPECT_EQ(countCollectives(program, exec::CollectiveKind::AllReduce, 1), 1);
}

TEST_F(StepTest, SmallBucketsMakeMoreCollectives) {
  OwningOpRef<ModuleOp> module = gpt2();
  exec::ProgramOp program = check(*module, {.dp = 2, .bucketBytes = 4096});
  ASSERT_TRUE(program);
  EXPECT_GT(countCollectives(program, exec::CollectiveKind::AllReduce, 1), 4);
}

TEST_F(StepTest, ZeroScattersAndGathers) {
  OwningOpRef<ModuleOp> module = gpt2();
  exec::ProgramOp program = check(*module, {.dp = 2, .zero = 1});
  ASSERT_TRUE(program);
  EXPECT_GE(countCollectives(program, exec::CollectiveKind::ReduceScatter, 1), 1);
  EXPECT_GE(countCollectives(program, exec::CollectiveKind::AllGather, 1), 1);
}

TEST_F(StepTest, DropoutOfLaterMicroBatchesStartsAtTheirSamples) {
  OwningOpRef<ModuleOp> module = gpt2(0.1);
  exec::ProgramOp program = check(*module, {.dp = 2, .microBatches = 2});
  ASSERT_TRUE(program);
  auto attentions = getInstructionsOf<exec::AttentionOp>(program);
  EXPECT_EQ(attentions.size(), 2u);
  for (exec::AttentionOp attention : attentions) {
    EXPECT_EQ(attention.getFirstBatch()->getBase(), 0);
    // 2 samples on each of 2 ranks come before.
    EXPECT_EQ(attention.getFirstBatch()->getMicroBatchStride(), 4);
  }
}

TEST_F(StepTest, SchedulesOnManyMeshes) {
  for (int64_t dp : {1, 2, 3})
    for (int64_t tp : {1, 2, 4})
      for (int64_t zero : {0, 1})
        for (int64_t bucketBytes : {0, 3000, 1 << 20}) {
          Plan plan{dp,      tp,  tp > 1 && zero == 0, zero, 1 + (dp + tp) % 2, bucketBytes,
                    tp != 2, true};
          SCOPED_TRACE(::testing::Message() << "dp " << dp << " tp " << tp << " zero " << zero
                                            << " bucket bytes " << bucketBytes);
          OwningOpRef<ModuleOp> first = gpt2(dp == 2 ? 0.1 : 0), second = llama();
          check(*first, plan);
          check(*second, plan);
        }
}

TEST_F(StepTest, TheSameInputGivesTheSameBytes) {
  auto emitOnce = [&] {
    OwningOpRef<ModuleOp> module = gpt2();
    exec::ProgramOp program = schedule(*module, {.dp = 2, .tp = 2, .zero = 1});
    EXPECT_TRUE(program);
    EmitInfo info;
    info.modelName = "small";
    info.sequenceLength = 8;
    std::vector<char> code(10, 'x');
    return *emitExecutable(program, ProgramCode::ofCpu(code), info);
  };
  EXPECT_EQ(emitOnce(), emitOnce());
}

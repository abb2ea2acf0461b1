// Compiles whole training steps of a small model and runs them on loopback ranks: it must train to
// the same bits for any order of micro-batches, number of slots and set of tasks.
#include "test/unit/schedule/StepProgram.h"

#include <cmath>

using namespace mlir;

namespace dtc::test {
namespace {

struct Trained {
  std::vector<float> losses;
  std::vector<float> parameters; // rank 0's, one after another
  float evaluated = 0;           // the loss of the first batch after the last step
  float nextLoss = 0;            // the loss that training on that batch reports next
  uint64_t arenaBytes = 0;
  size_t instructions = 0, repeats = 0;
};

class StepRun : public testing::Test {
protected:
  Trained train(const Shape &shape) {
    std::vector<uint8_t> file = compileStep(context, shape);
    Trained trained;
    if (file.empty())
      return trained;
    auto ranks = static_cast<int>(shape.dp * shape.tp);
    runRanks(ranks, file, [&](int rank, rt::Executor &executor, rt::Device &device) {
      fillParameters(executor, device, shape);
      rt::StepResult result;
      auto run = [&](format::EntryKind entry, int64_t step, uint64_t number) {
        writeTokens(executor, shape, rank, step);
        ASSERT_TRUE(executor.setScalars({number, kSteps + 1, 1e-2f, 3}).ok());
        rt::Status status = executor.run(entry, result);
        ASSERT_TRUE(status.ok()) << status.message();
      };
      for (int64_t step = 0; step < kSteps; ++step) {
        run(format::EntryKind::train, step, static_cast<uint64_t>(step) + 1);
        if (rank == 0)
          trained.losses.push_back(result.loss);
      }
      std::vector<float> parameters = readParameters(executor, device);
      run(format::EntryKind::evaluate, 0, kSteps);
      float evaluated = result.loss;
      EXPECT_EQ(readParameters(executor, device), parameters) << "evaluation changes parameters";
      run(format::EntryKind::train, 0, kSteps + 1);
      if (rank != 0)
        return;
      trained.parameters = parameters;
      trained.evaluated = evaluated;
      trained.nextLoss = result.loss;
      trained.arenaBytes = executor.program().arena_bytes();
      for (const format::Task *task : *executor.program().tasks()) {
        trained.instructions += task->instructions()->size();
        trained.repeats += format::sizeOf(task->repeats());
      }
    });
    return trained;
  }

  MLIRContext context;
};

void expectNear(const Trained &found, const Trained &wanted, float tolerance) {
  ASSERT_EQ(found.losses.size(), wanted.losses.size());
  ASSERT_EQ(found.parameters.size(), wanted.parameters.size());
  for (size_t i = 0; i < wanted.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], wanted.losses[i], tolerance) << "step " << i;
  for (size_t i = 0; i < wanted.parameters.size(); ++i)
    ASSERT_NEAR(found.parameters[i], wanted.parameters[i], tolerance) << "parameter " << i;
}

// Sums over micro-batches grow in the same order, whatever runs in between.
TEST_F(StepRun, SlotsAndTasksChangeNoBit) {
  for (Shape shape :
       {Shape{.microBatches = 6}, Shape{.microBatches = 6, .dropout = 0.2},
        Shape{.dp = 2, .zero = 1, .microBatches = 3, .dropout = 0.2},
        Shape{.dp = 2, .tp = 2, .microBatches = 3},
        // Many reductions are in progress while other micro-batches run.
        Shape{.dp = 2, .zero = 1, .microBatches = 6, .bucketBytes = 0, .llama = true}}) {
    Trained wanted = train(shape);
    uint64_t last = wanted.arenaBytes;
    for (int64_t slots : {1, 2, 4})
      for (bool splitBackward : {false, true}) {
        shape.slots = slots;
        shape.splitBackward = splitBackward;
        SCOPED_TRACE(testing::Message() << "dp " << shape.dp << " tp " << shape.tp << " slots "
                                        << slots << " split " << splitBackward);
        Trained found = train(shape);
        EXPECT_EQ(found.losses, wanted.losses);
        EXPECT_EQ(found.parameters, wanted.parameters);
        EXPECT_EQ(found.evaluated, wanted.evaluated);
        if (!splitBackward && slots > 1 && slots <= shape.microBatches)
          EXPECT_GT(found.arenaBytes, last) << "each slot takes memory";
        if (!splitBackward)
          last = found.arenaBytes;
        if (HasFailure())
          return;
      }
  }
}

// Layers that are in the program once run like layers that are there one after another, in as much
// memory.
TEST_F(StepRun, RollingLayersChangesNoBit) {
  for (Shape shape :
       {Shape{.dropout = 0.2}, Shape{.microBatches = 3, .dropout = 0.2},
        Shape{.microBatches = 3, .slots = 2, .dropout = 0.2, .llama = true},
        Shape{.tp = 2, .microBatches = 2, .dropout = 0.2, .sequenceParallel = true},
        Shape{.dp = 2, .zero = 1, .microBatches = 3, .slots = 2, .dropout = 0.2},
        // Reductions and gathers of each layer are on a stream of their own.
        Shape{.dp = 2, .zero = 1, .microBatches = 2, .bucketBytes = 0},
        Shape{.dp = 2, .tp = 2, .microBatches = 2, .bucketBytes = 0, .llama = true}}) {
    SCOPED_TRACE(testing::Message() << "dp " << shape.dp << " tp " << shape.tp << " slots "
                                    << shape.slots << " llama " << shape.llama);
    shape.layers = 6;
    Trained found = train(shape);
    shape.roll = false;
    Trained wanted = train(shape);
    EXPECT_EQ(found.losses, wanted.losses);
    EXPECT_EQ(found.parameters, wanted.parameters);
    EXPECT_EQ(found.evaluated, wanted.evaluated);
    EXPECT_EQ(found.nextLoss, wanted.nextLoss);
    EXPECT_EQ(found.arenaBytes, wanted.arenaBytes);
    EXPECT_EQ(wanted.repeats, 0u);
    EXPECT_GT(found.repeats, 0u);
    EXPECT_LT(found.instructions, wanted.instructions);
  }
}

TEST_F(StepRun, MicroBatchesTrainLikeOneBatch) {
  for (double dropout : {0.0, 0.2}) {
    Trained wanted = train({.dropout = dropout});
    for (int64_t microBatches : {2, 3, 12}) {
      SCOPED_TRACE(microBatches);
      expectNear(train({.microBatches = microBatches, .dropout = dropout}), wanted, 2e-5f);
    }
  }
}

// Except for dropout, evaluation gives what training would report next, and changes nothing.
TEST_F(StepRun, EvaluationIsTheLossOfTheForwardPass) {
  for (Shape shape :
       {Shape{}, Shape{.microBatches = 4}, Shape{.dp = 2, .zero = 1, .microBatches = 2},
        Shape{.dp = 2, .tp = 2, .microBatches = 2}}) {
    Trained plain = train(shape);
    EXPECT_EQ(plain.evaluated, plain.nextLoss);
    shape.dropout = 0.5;
    Trained dropped = train(shape);
    EXPECT_TRUE(std::isfinite(dropped.evaluated));
    EXPECT_GT(std::abs(dropped.evaluated - dropped.nextLoss), 1e-3)
        << "dropout is off in evaluation";
  }
}

} // namespace
} // namespace dtc::test

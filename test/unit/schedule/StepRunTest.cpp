// Whole training steps of a small model, compiled and run on loopback ranks: however its micro-batches
// are ordered, in how many slots, with which tasks, it trains to the same bits.
#include "compiler/emit/Emit.h"
#include "compiler/frontend/Frontend.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/codegen/KernelLibrary.h"
#include "runtime/base/Fill.h"
#include "runtime/exec/Binding.h"
#include "test/unit/exec/RankRunner.h"
#include "test/unit/schedule/StepPipeline.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"

#include "llvm/TargetParser/Host.h"

#include <cmath>

using namespace mlir;

namespace dtc::test {
namespace {

constexpr int64_t kSequence = 8, kSamples = 12, kSteps = 3; // samples of a step, over all ranks
constexpr uint32_t kWords = 61;

struct Shape {
  int64_t dp = 1, tp = 1, zero = 0, microBatches = 1, slots = 1;
  bool splitBackward = false;
  double dropout = 0;
  int64_t bucketBytes = 25 << 20;
  bool llama = false; // with embeddings that are not tied, else GPT-2
};

struct Trained {
  std::vector<float> losses;
  std::vector<float> parameters; // of rank 0, one after another
  float evaluated = 0;           // the loss of the first batch after the last step
  float nextLoss = 0;            // what training on that batch then reports
  uint64_t arenaBytes = 0;
};

class StepRun : public testing::Test {
protected:
  StepRun() { context.loadDialect<graph::GraphDialect, shard::ShardDialect>(); }

  std::vector<uint8_t> compile(const Shape &shape) {
    Gpt2Config config;
    config.vocabulary = kWords;
    config.positions = kSequence;
    config.width = 24;
    config.layers = 2;
    config.heads = 2;
    config.residualDropout = config.embeddingDropout = config.attentionDropout = shape.dropout;
    LlamaConfig llama;
    llama.vocabulary = kWords;
    llama.width = 24;
    llama.innerWidth = 40;
    llama.layers = 2;
    llama.heads = 2;
    llama.kvHeads = 2;
    llama.headDim = 12;
    llama.attentionDropout = shape.dropout;
    OwningOpRef<ModuleOp> module = completed(shape.llama ? buildLlama(&context, llama, kSequence)
                                                         : buildGpt2(&context, config, kSequence));
    ScheduleOptions options;
    options.slots = shape.slots;
    options.bucketBytes = shape.bucketBytes;
    options.splitBackward = shape.splitBackward;
    EXPECT_TRUE(scheduleModel(
        *module, {shape.dp, shape.tp, /*sequenceParallel=*/false, shape.zero, shape.microBatches},
        kSamples / shape.microBatches, options));
    FailureOr<KernelLibrary> kernels =
        lowerKernels(*module, {llvm::sys::getHostCPUName().str(), ""});
    EXPECT_TRUE(succeeded(kernels));
    EmitInfo info;
    info.modelName = "small";
    info.sequenceLength = kSequence;
    auto programs = module->getOps<exec::ProgramOp>();
    Result<std::vector<uint8_t>> file = emitExecutable(*programs.begin(), kernels->bytes, info);
    EXPECT_TRUE(file.ok()) << (file ? "" : file.error().text());
    return file ? *file : std::vector<uint8_t>();
  }

  // Tokens of this rank in a step, [micro-batch, sample, position]: of each micro-batch the ranks of
  // dp, outermost, share out the samples.
  static std::vector<int32_t> tokensOf(const Shape &shape, int rank, int64_t step, int64_t shift) {
    int64_t ofMicroBatch = kSamples / shape.microBatches, ofRank = ofMicroBatch / shape.dp;
    int64_t first = rank / shape.tp * ofRank;
    std::vector<int32_t> tokens;
    for (int64_t m = 0; m < shape.microBatches; ++m)
      for (int64_t s = first; s < first + ofRank; ++s)
        for (int64_t t = 0; t < kSequence; ++t) {
          int64_t sample = step * kSamples + m * ofMicroBatch + s;
          tokens.push_back(
              static_cast<int32_t>((sample * 31 + (t + shift) * (7 + sample % 5)) % kWords));
        }
    return tokens;
  }

  static void write(rt::Executor &executor, const Shape &shape, int rank, int64_t step) {
    for (auto [name, shift] : {std::pair("tokens", 0), std::pair("targets", 1)}) {
      std::vector<int32_t> tokens = tokensOf(shape, rank, step, shift);
      ASSERT_TRUE(executor.writeInput(name, std::as_bytes(std::span(tokens))).ok());
    }
  }

  Trained train(const Shape &shape) {
    std::vector<uint8_t> file = compile(shape);
    Trained trained;
    if (file.empty())
      return trained;
    auto ranks = static_cast<int>(shape.dp * shape.tp);
    std::vector<uint32_t> mesh{static_cast<uint32_t>(shape.dp), static_cast<uint32_t>(shape.tp)};
    runRanks(ranks, file, [&](int rank, rt::Executor &executor, rt::Device &device) {
      const format::Program &program = executor.program();
      for (const format::Tensor *tensor : *program.parameters()) {
        rt::TensorSpec spec = rt::tensorSpec(*tensor);
        std::vector<float> local(rt::elementCount(spec.localShape));
        ASSERT_TRUE(rt::initialiseTensor(spec, 7, mesh, executor.coordinates(), local).ok());
        put(executor, device, tensor->buffer(), local);
      }
      rt::StepResult result;
      auto run = [&](format::EntryKind entry, int64_t step, uint64_t number) {
        write(executor, shape, rank, step);
        ASSERT_TRUE(executor.setScalars({number, kSteps + 1, 1e-2f, 3}).ok());
        rt::Status status = executor.run(entry, result);
        ASSERT_TRUE(status.ok()) << status.message();
      };
      for (int64_t step = 0; step < kSteps; ++step) {
        run(format::EntryKind::train, step, static_cast<uint64_t>(step) + 1);
        if (rank == 0)
          trained.losses.push_back(result.loss);
      }
      std::vector<float> parameters;
      for (const format::Tensor *tensor : *program.parameters())
        for (float value : get(executor, device, tensor->buffer()))
          parameters.push_back(value);
      run(format::EntryKind::evaluate, 0, kSteps);
      float evaluated = result.loss;
      std::vector<float> after;
      for (const format::Tensor *tensor : *program.parameters())
        for (float value : get(executor, device, tensor->buffer()))
          after.push_back(value);
      EXPECT_EQ(after, parameters) << "evaluation changes parameters";
      run(format::EntryKind::train, 0, kSteps + 1);
      if (rank != 0)
        return;
      trained.parameters = parameters;
      trained.evaluated = evaluated;
      trained.nextLoss = result.loss;
      trained.arenaBytes = program.arena_bytes();
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
        // Many reductions under way while other micro-batches run.
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

TEST_F(StepRun, MicroBatchesTrainLikeOneBatch) {
  for (double dropout : {0.0, 0.2}) {
    Trained wanted = train({.dropout = dropout});
    for (int64_t microBatches : {2, 3, 12}) {
      SCOPED_TRACE(microBatches);
      expectNear(train({.microBatches = microBatches, .dropout = dropout}), wanted, 2e-5f);
    }
  }
}

// Evaluation is what training would report next, but for dropout, and changes nothing.
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

// Small language models, compiled to training steps that the CPU runs, and their inputs.
#pragma once

#include "compiler/build/emit/Emit.h"
#include "compiler/describe/frontend/Frontend.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/codegen/KernelLibrary.h"
#include "runtime/base/Fill.h"
#include "runtime/exec/Binding.h"
#include "test/unit/exec/RankRunner.h"
#include "test/unit/schedule/StepPipeline.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"

#include "llvm/TargetParser/Host.h"

namespace dtc::test {

inline constexpr int64_t kSequence = 8, kSamples = 12,
                         kSteps = 3; // samples of a step, over all ranks
inline constexpr uint32_t kWords = 61;

// The size of a model, and how its step is split and scheduled.
struct Shape {
  int64_t dp = 1, tp = 1, zero = 0, microBatches = 1, slots = 1;
  bool splitBackward = false;
  double dropout = 0;
  int64_t bucketBytes = 25 << 20;
  bool llama = false; // Llama with embeddings that are not tied, else GPT-2
  int64_t layers = 2;
  bool sequenceParallel = false, roll = true;
};

// Compiles the training step of a model to the bytes of a .dte file.
inline std::vector<uint8_t> compileStep(mlir::MLIRContext &context, const Shape &shape) {
  using namespace mlir;
  context.loadDialect<graph::GraphDialect, shard::ShardDialect>();
  Gpt2Config config;
  config.vocabulary = kWords;
  config.positions = kSequence;
  config.width = 24;
  config.layers = shape.layers;
  config.heads = 2;
  config.residualDropout = config.embeddingDropout = config.attentionDropout = shape.dropout;
  LlamaConfig llama;
  llama.vocabulary = kWords;
  llama.width = 24;
  llama.innerWidth = 40;
  llama.layers = shape.layers;
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
  options.roll = shape.roll;
  EXPECT_TRUE(scheduleModel(
      *module, {shape.dp, shape.tp, shape.sequenceParallel, shape.zero, shape.microBatches},
      kSamples / shape.microBatches, options));
  FailureOr<KernelLibrary> kernels = lowerKernels(*module, {llvm::sys::getHostCPUName().str(), ""});
  EXPECT_TRUE(succeeded(kernels));
  EmitInfo info;
  info.modelName = "small";
  info.sequenceLength = kSequence;
  auto programs = module->getOps<exec::ProgramOp>();
  Result<std::vector<uint8_t>> file =
      emitExecutable(*programs.begin(), ProgramCode::ofCpu(kernels->bytes), info);
  EXPECT_TRUE(file.ok()) << (file ? "" : file.error().text());
  return file ? *file : std::vector<uint8_t>();
}

// Returns the tokens of this rank in a step, [micro-batch, sample, position]. The ranks of dp,
// outermost, divide the samples of each micro-batch among them.
inline std::vector<int32_t> tokensOf(const Shape &shape, int rank, int64_t step, int64_t shift) {
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

// Writes the tokens and targets of a rank for one step.
inline void writeTokens(rt::Executor &executor, const Shape &shape, int rank, int64_t step) {
  for (auto [name, shift] : {std::pair("tokens", 0), std::pair("targets", 1)}) {
    std::vector<int32_t> tokens = tokensOf(shape, rank, step, shift);
    ASSERT_TRUE(executor.writeInput(name, std::as_bytes(std::span(tokens))).ok());
  }
}

// Fills the parameters of a rank with the initial values of a run with seed 7.
inline void fillParameters(rt::Executor &executor, rt::Device &device, const Shape &shape) {
  std::vector<uint32_t> mesh{static_cast<uint32_t>(shape.dp), static_cast<uint32_t>(shape.tp)};
  for (const format::Tensor *tensor : *executor.program().parameters()) {
    rt::TensorSpec spec = rt::tensorSpec(*tensor);
    std::vector<float> local(rt::elementCount(spec.localShape));
    ASSERT_TRUE(rt::initialiseTensor(spec, 7, mesh, executor.coordinates(), local).ok());
    put(executor, device, tensor->buffer(), local);
  }
}

// Returns the parameters of a rank, one after another.
inline std::vector<float> readParameters(rt::Executor &executor, rt::Device &device) {
  std::vector<float> parameters;
  for (const format::Tensor *tensor : *executor.program().parameters())
    for (float value : get(executor, device, tensor->buffer()))
      parameters.push_back(value);
  return parameters;
}

} // namespace dtc::test

// Compares the ops that the cost model counts as epilogues of products with those that the compiler
// moves into products, on whole steps of small models.
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/search/planner/Passes.h"
#include "compiler/search/planner/PlacementSearch.h"
#include "dialects/exec/Exec.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir;

namespace dtc {
namespace {

// Numbers of ops by name.
using Counts = std::map<std::string, int>;

// A way to split a layer over ranks of tensor parallelism.
struct Split {
  int64_t tp = 1;
  bool sequenceParallel = false;
};

class Epilogues : public testing::Test {
protected:
  Epilogues() : context(MLIRContext::Threading::DISABLED) { loadDialects(context); }

  static Gpt2Config smallGpt2() {
    Gpt2Config config;
    config.vocabulary = config.width = 64;
    config.positions = 32;
    config.layers = 1;
    config.heads = 4;
    return config;
  }

  static LlamaConfig smallLlama() {
    LlamaConfig config;
    config.vocabulary = config.width = 64;
    config.innerWidth = 128;
    config.layers = 1;
    config.heads = config.kvHeads = 4;
    config.headDim = 16;
    return config;
  }

  // Returns the ops of all cells that the cost model takes for epilogues under the software of dtc
  // for a device. Those that only products in 16 bits have count if `compute` is one.
  static Counts counted(ModuleOp model, const Split &split, bool onGpu, ComputeType compute) {
    FoldedModel folded = foldLayers(model);
    std::optional<ModelCells> cells = readCells(folded, split.tp, split.sequenceParallel);
    EXPECT_TRUE(cells);
    Counts counts;
    if (!cells || !loadStack(onGpu ? "dtc-gpu" : "dtc")->productEpilogues)
      return counts;
    std::vector<const BlockCell *> all = {&cells->embedding, &cells->head};
    for (const BlockCell &block : cells->blocks)
      all.push_back(&block);
    for (const BlockCell *cell : all)
      for (const CellOp &op : cell->ops)
        if (op.isEpilogue && !(op.isNarrow && compute == ComputeType::F32))
          ++counts[op.name];
    return counts;
  }

  // Returns the ops that products of the compiled step do as their epilogues.
  static Counts fused(ModuleOp model, const Split &split, bool onGpu, Precision precision) {
    OwningOpRef<ModuleOp> module(model.clone());
    PassManager passes(module->getContext());
    SetMeshOptions mesh;
    mesh.tp = split.tp;
    mesh.sequenceParallel = split.sequenceParallel;
    passes.addPass(createSetMesh(mesh));
    StepOptions step;
    step.batch = 2;
    step.precision = precision;
    addGraphPhase(passes, step);
    passes.addPass(createPlace());
    addShardPhase(passes);
    ScheduleOptions schedule;
    schedule.onGpu = onGpu;
    schedule.roll = false;
    addSchedulePhase(passes, schedule);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    Counts counts;
    module->walk([&](exec::GemmOp gemm) {
      for (Value addend : {gemm.getBias(), gemm.getAddend()})
        if (addend)
          ++counts["add"];
      if (gemm.getGelu())
        ++counts["gelu"];
      if (gemm.getGeluOf())
        ++counts["gelu_grad"];
    });
    return counts;
  }

  // Expects that both agree on a GPU in 16 bits and in 32, and on a CPU. Returns the ops in 16 bits
  // on a GPU.
  static Counts agreed(ModuleOp model, const Split &split = {}) {
    Counts narrow = fused(model, split, /*onGpu=*/true, Precision::BF16);
    EXPECT_EQ(counted(model, split, /*onGpu=*/true, ComputeType::BF16), narrow);
    EXPECT_EQ(counted(model, split, /*onGpu=*/true, ComputeType::F32),
              fused(model, split, /*onGpu=*/true, Precision::F32));
    EXPECT_EQ(fused(model, split, /*onGpu=*/false, Precision::F32), Counts());
    EXPECT_EQ(counted(model, split, /*onGpu=*/false, ComputeType::F32), Counts());
    return narrow;
  }

  OwningOpRef<ModuleOp> gpt2(const Gpt2Config &config) {
    return completed(buildGpt2(&context, config, 32));
  }
  OwningOpRef<ModuleOp> llama(const LlamaConfig &config) {
    return completed(buildLlama(&context, config, 32));
  }

  MLIRContext context;
};

} // namespace

// Four biases, both residuals, GELU and its derivative.
TEST_F(Epilogues, AreThoseOfGpt2) {
  EXPECT_EQ(agreed(*gpt2(smallGpt2())), (Counts{{"add", 6}, {"gelu", 1}, {"gelu_grad", 1}}));
}

// Behind GELU by erf and its derivative there is no product.
TEST_F(Epilogues, AreNoGeluByErf) {
  Gpt2Config config = smallGpt2();
  config.activation = graph::GeluKind::Erf;
  agreed(*gpt2(config));
}

// Dropout is in the kernels of biases and residuals, which products then can't do.
TEST_F(Epilogues, StayKernelsWithDropout) {
  Gpt2Config config = smallGpt2();
  Counts whole = agreed(*gpt2(config));
  config.residualDropout = 0.1;
  Counts dropped = agreed(*gpt2(config));
  EXPECT_LT(dropped["add"], whole["add"]);
}

// Sums over ranks come between products and residuals; those of backward are over ranks, too.
TEST_F(Epilogues, AreOfWholeProducts) {
  for (bool sequenceParallel : {false, true}) {
    SCOPED_TRACE(sequenceParallel);
    agreed(*gpt2(smallGpt2()), {2, sequenceParallel});
    EXPECT_EQ(agreed(*llama(smallLlama()), {2, sequenceParallel}), Counts());
  }
}

TEST_F(Epilogues, AreThoseOfLlama) {
  EXPECT_EQ(agreed(*llama(smallLlama())), (Counts{{"add", 3}}));
  LlamaConfig config = smallLlama();
  config.projectionBias = true; // as in Qwen2
  EXPECT_EQ(agreed(*llama(config)), (Counts{{"add", 6}}));
  config.kvHeads = 2;
  agreed(*llama(config));
  config.mlpBias = config.outputBias = true;
  agreed(*llama(config));
}

// cuBLASLt wants rows of whole vectors: here a row has 20 elements or 60.
TEST_F(Epilogues, NeedWholeVectors) {
  Gpt2Config config = smallGpt2();
  config.width = 20;
  config.heads = 2;
  config.innerWidth = 60;
  EXPECT_EQ(agreed(*gpt2(config)), Counts());
}

} // namespace dtc

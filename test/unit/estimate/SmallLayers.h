// Layers of small models as the planner reads them: 128 tokens of width 64, 256 within the
// feed-forward part, 4 heads.
#pragma once

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/search/planner/PlacementSearch.h"
#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/SmallMixture.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace dtc {

// A fixture that builds layers.
class SmallLayers : public testing::Test {
protected:
  SmallLayers() : context(mlir::MLIRContext::Threading::DISABLED) { loadDialects(context); }

  BlockCell layerOf(mlir::OwningOpRef<mlir::ModuleOp> built, int64_t tp = 1,
                    bool sequenceParallel = false) {
    module = completed(std::move(built));
    folded = foldLayers(*module);
    return readCells(folded, tp, sequenceParallel)->blocks.front();
  }

  BlockCell gpt2Layer(graph::GeluKind activation = graph::GeluKind::Tanh) {
    Gpt2Config config;
    config.activation = activation;
    config.vocabulary = config.width = 64;
    config.positions = 128;
    config.layers = 1;
    config.heads = 4;
    return layerOf(buildGpt2(&context, config, 128));
  }

  BlockCell llamaLayer(int64_t experts = 0, int64_t tp = 1, bool sequenceParallel = false) {
    LlamaConfig config;
    config.vocabulary = config.width = 64;
    config.innerWidth = 256;
    config.layers = 1;
    config.heads = config.kvHeads = 4;
    config.headDim = 16;
    config.experts = smallMixture(experts, config.innerWidth);
    return layerOf(buildLlama(&context, config, 128), tp, sequenceParallel);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  FoldedModel folded;
};

} // namespace dtc

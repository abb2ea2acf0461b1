// Compares estimates of memory with published formulas: activations of Korthikanti et al. 2022
// ("Reducing Activation Recomputation in Large Transformer Models"), model states of ZeRO
// (Rajbhandari et al. 2020).
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/search/planner/PlacementSearch.h"
#include "models/Gpt2.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/OwnStack.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace dtc {
namespace {

constexpr double kSequence = 1024, kWidth = 1024, kHeads = 16, kLayers = 4;

class MemoryFormulaTest : public testing::Test {
protected:
  MemoryFormulaTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    Gpt2Config config;
    config.vocabulary = 8192;
    config.positions = static_cast<int64_t>(kSequence);
    config.width = static_cast<int64_t>(kWidth);
    config.layers = static_cast<int64_t>(kLayers);
    config.heads = static_cast<int64_t>(kHeads);
    module = completed(buildGpt2(&context, config, config.positions));
    folded = foldLayers(*module);
    topology = *loadTopology("dgx-a100-80g");
  }

  BlockCost layerOf(const Decisions &decisions, const SoftwareStack &software) {
    std::optional<ModelCells> cells = readCells(folded, decisions.tp, decisions.sequenceParallel);
    EXPECT_TRUE(cells.has_value());
    ModelCells applied = applyStack(*cells, software, ComputeType::BF16);
    return costModel(applied, decisions, topology,
                     cellPrecision(Precision::BF16, OptimizerKind::AdamW, software))
        .blocks.front();
  }

  MemoryParts statesOf(int64_t zero) {
    Decisions decisions;
    decisions.dp = 8;
    decisions.zero = zero;
    SoftwareStack software = ownStack();
    std::optional<ModelCells> cells = readCells(folded, 1, false);
    EXPECT_TRUE(cells.has_value());
    EstimateRequest request{&topology, &software,
                            cellPrecision(Precision::BF16, OptimizerKind::AdamW, software), 1e30};
    ModelCells applied = applyStack(*cells, software, ComputeType::BF16);
    ModelCost cost = costModel(applied, decisions, topology, request.precision);
    StepEstimate step = estimateStep(cost, decisions, request);
    parameters = cost.blocks.front().denseParameters * kLayers + cost.embedding.denseParameters +
                 cost.head.denseParameters - cost.tiedParameters;
    layer = cost.blocks.front().denseParameters;
    return step.stages.front().memory;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  FoldedModel folded;
  Topology topology;
  double parameters = 0, layer = 0;
};

// Their 34 s b h applies without the two masks of dropout, and without the scores, which are never
// in memory. Rows of statistics are the difference: 3 numbers in f32 a token and one a token and
// head.
TEST_F(MemoryFormulaTest, LayerKeepsKorthikantisBytes) {
  Decisions decisions;
  decisions.microBatch = 2;
  double elements = kSequence * 2 * kWidth;
  EXPECT_NEAR(layerOf(decisions, ownStack()).kept, 32 * elements, 0.002 * 32 * elements);
}

TEST_F(MemoryFormulaTest, ScoresInMemoryAddFiveBytesEach) {
  SoftwareStack software = ownStack();
  software.blockedAttention = false;
  Decisions decisions;
  double more = layerOf(decisions, software).kept - layerOf(decisions, ownStack()).kept;
  EXPECT_DOUBLE_EQ(more, 5 * kHeads * kSequence * kSequence);
}

// The formula is s b h (10 + 24 / t), less the masks: 8 + 24 / t.
TEST_F(MemoryFormulaTest, TensorParallelismDividesAllButTheStream) {
  Decisions decisions;
  decisions.tp = 4;
  double elements = kSequence * kWidth;
  EXPECT_NEAR(layerOf(decisions, ownStack()).kept, (8 + 24.0 / 4) * elements,
              0.005 * 14 * elements);
}

TEST_F(MemoryFormulaTest, FullRecomputationKeepsTheInput) {
  Decisions decisions;
  EXPECT_DOUBLE_EQ(layerOf(decisions, ownStack()).input, 2 * kSequence * kWidth);
}

// A parameter has 2 bytes, 4 of gradient and 12 of state; each of ZeRO 1, 2 and 3 divides one more.
// Stage 2 also has two layers' whole gradients, stage 3 two layers' whole parameters.
TEST_F(MemoryFormulaTest, ZeroDividesOneMoreOfTheStates) {
  MemoryParts none = statesOf(0), states = statesOf(1), gradients = statesOf(2), all = statesOf(3);
  EXPECT_DOUBLE_EQ(none.parameters, 2 * parameters);
  EXPECT_DOUBLE_EQ(none.gradients, 4 * parameters);
  EXPECT_DOUBLE_EQ(none.optimizer, 12 * parameters);
  EXPECT_DOUBLE_EQ(states.parameters, 2 * parameters);
  EXPECT_DOUBLE_EQ(states.gradients, 4 * parameters);
  EXPECT_DOUBLE_EQ(states.optimizer, 12 * parameters / 8);
  EXPECT_DOUBLE_EQ(gradients.parameters, 2 * parameters);
  EXPECT_DOUBLE_EQ(gradients.gradients, 4 * parameters / 8 + 2 * 4 * layer);
  EXPECT_DOUBLE_EQ(all.parameters, 2 * parameters / 8 + 2 * 2 * layer);
  EXPECT_DOUBLE_EQ(all.gradients, 4 * parameters / 8 + 2 * 4 * layer);
  EXPECT_DOUBLE_EQ(all.optimizer, 12 * parameters / 8);
}

} // namespace
} // namespace dtc

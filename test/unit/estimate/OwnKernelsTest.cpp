// Effects of dtc's compiler on a layer on a GPU, as the planner counts them: epilogues of products,
// tiles in place, ops that full recomputation leaves out.
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/estimate/CellCost.h"
#include "compiler/price/estimate/ModelCost.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/price/workload/Epilogues.h"
#include "compiler/price/workload/OpFacts.h"
#include "dialects/graph/ElementwiseOps.h"
#include "test/unit/estimate/OwnStack.h"
#include "test/unit/estimate/SmallLayers.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace dtc {
namespace {

// Bytes of a layer's tensors in f32: 128 tokens of width 64, 256 within the feed-forward part.
constexpr double kRows = 128 * 64 * 4, kInner = 128 * 256 * 4, kBias = 64 * 4;

class OwnKernels : public SmallLayers {};

std::vector<std::string> namesOf(const BlockCell &cell,
                                 llvm::function_ref<bool(const CellOp &)> is) {
  std::vector<std::string> names;
  for (const CellOp &op : cell.ops)
    if (is(op))
      names.push_back(op.name);
  return names;
}

BlockCell onGpu(BlockCell cell) {
  ModelCells cells;
  cells.blocks = {std::move(cell)};
  return applyStack(std::move(cells), *loadStack("dtc-gpu"), ComputeType::BF16).blocks.front();
}

double bytesOf(const BlockCell &cell, llvm::function_ref<bool(const CellOp &)> is) {
  double bytes = 0;
  for (const CellOp &op : cell.ops)
    bytes += is(op) ? op.bytes.at({}) : 0;
  return bytes;
}

bool isEpilogue(const CellOp &op) { return op.isEpilogue; }

} // namespace

// dtc-fuse-epilogues takes eight ops from a layer: biases of four products, both residuals, GELU
// and its derivative. The bytes that are left are the biases, the residual that is the layer's
// input (the other one counts as at hand, like every result of a pointwise op), and the input of
// GELU, written forward beside the result and read backward.
TEST_F(OwnKernels, ProductsOfGpt2DoWhatFollowsThem) {
  BlockCell cell = gpt2Layer();
  EXPECT_EQ(namesOf(cell, isEpilogue), (std::vector<std::string>{"add", "add", "add", "add", "gelu",
                                                                 "add", "add", "gelu_grad"}));
  BlockCell own = onGpu(cell);
  EXPECT_DOUBLE_EQ(bytesOf(own, isEpilogue), 9 * kBias + kRows + 2 * kInner);
  EXPECT_EQ(namesOf(own, [](const CellOp &op) { return op.isEpilogue && !op.joined; }),
            std::vector<std::string>{});
  // Other software launches kernels for them, which read the products' results and write them
  // again.
  EXPECT_DOUBLE_EQ(bytesOf(cell, isEpilogue),
                   bytesOf(own, isEpilogue) + 2 * (3 + 1 + 1) * kRows + 4 * kInner);
}

// cuBLASLt supports GELU by tanh alone: by erf it is a kernel, which adds the bias before it, too,
// and so is its derivative.
TEST_F(OwnKernels, GeluByErfIsAKernel) {
  BlockCell cell = gpt2Layer(graph::GeluKind::Erf);
  EXPECT_EQ(namesOf(cell, isEpilogue), std::vector<std::string>(5, "add"));
}

// A product that another op reads too has to be written, and is not fused into a sum; nor are sums
// of other tensors, nor a bias in one kernel with something else.
TEST_F(OwnKernels, ProductsThatOthersReadAreWritten) {
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
    graph.func @sums(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>)
        -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
      %alone = graph.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %one = graph.add %alone, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
      %read = graph.linear %one, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %two = graph.add %read, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
      %more = graph.linear %two, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %three = graph.add %more, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
      %four = graph.silu %three : tensor<8x16xf32>
      %five = graph.add %x, %x : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
      graph.return %one, %two, %four, %five, %read : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
    })mlir",
                                                        &context);
  ASSERT_TRUE(parsed);
  mlir::Block &block = (*parsed->getOps<graph::FuncOp>().begin()).getBody().front();
  EpilogueParts parts = findEpilogues(block);
  std::vector<bool> are;
  block.walk([&](graph::AddOp add) { are.push_back(parts.contains(add)); });
  EXPECT_EQ(are, (std::vector<bool>{true, false, false, false}));
}

// Both residuals are fused and, backward, the sum of gradients of gate and up, which read the same
// tensor. The sum for queries, keys and values has three terms, and stays a kernel.
TEST_F(OwnKernels, ProductsOfLlamaAddWhatIsThere) {
  BlockCell cell = llamaLayer();
  std::vector<std::string> names = namesOf(cell, isEpilogue);
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(names, std::vector<std::string>(names.size(), "add"));
  EXPECT_LT(bytesOf(onGpu(cell), isEpilogue), bytesOf(cell, isEpilogue));
}

// In f32 a product adds only a whole tensor: here none without a bias does.
TEST_F(OwnKernels, BiasesAreOfProductsIn16Bits) {
  ModelCells cells;
  cells.blocks = {gpt2Layer()};
  BlockCell wide = applyStack(cells, *loadStack("dtc-gpu"), ComputeType::F32).blocks.front();
  EXPECT_EQ(bytesOf(wide, isEpilogue), bytesOf(cells.blocks.front(), isEpilogue));
  cells.blocks = {llamaLayer()};
  wide = applyStack(cells, *loadStack("dtc-gpu"), ComputeType::F32).blocks.front();
  EXPECT_LT(bytesOf(wide, isEpilogue), bytesOf(cells.blocks.front(), isEpilogue));
}

// Three slices of one product's result, each of which counts in the graph as reading all of it, and
// the concatenation of their gradients cost nothing.
TEST_F(OwnKernels, PartsOfATensorAreWhereTheyAre) {
  BlockCell cell = gpt2Layer();
  auto isPart = [](const CellOp &op) { return op.isInPlace; };
  EXPECT_EQ(namesOf(cell, isPart), (std::vector<std::string>{"slice", "slice", "slice", "concat"}));
  EXPECT_EQ(bytesOf(cell, isPart), 3 * (3 + 1) * kRows + 2 * 3 * kRows);
  EXPECT_EQ(bytesOf(onGpu(cell), isPart), 0);
}

// A layer's last product, its bias and its residual make the layer's result, which no gradient
// needs.
TEST_F(OwnKernels, FullRecomputationLeavesTheLastProductOut) {
  BlockCell own = onGpu(gpt2Layer());
  std::vector<std::string> unread;
  for (int index : own.unreadOps)
    unread.push_back(own.ops[static_cast<size_t>(index)].name);
  EXPECT_EQ(unread, (std::vector<std::string>{"linear", "add", "add"}));
  Topology topology = *loadTopology("dgx-h100", 1, 1);
  CellPrecision precision =
      cellPrecision(Precision::BF16, OptimizerKind::AdamW, *loadStack("dtc-gpu"));
  double seconds = 0;
  for (int index : own.unreadOps)
    seconds += costOp(own.ops[static_cast<size_t>(index)], {8}, topology, precision).seconds;
  EXPECT_DOUBLE_EQ(costWork(own, {8}, topology, precision).unread, seconds);
  EXPECT_GT(seconds, 0);
  ModelCells others;
  others.blocks = {gpt2Layer()};
  BlockCell megatron =
      applyStack(std::move(others), *loadStack("megatron-core"), ComputeType::BF16).blocks.front();
  EXPECT_EQ(costWork(megatron, {8}, topology, precision).unread, 0);
}

// Kernels of a replayed graph start in graph_latency, whatever their work.
TEST_F(OwnKernels, LaunchesAreReplayed) {
  CellOp op;
  op.bytes.parts[0] = 1e6;
  Topology topology = *loadTopology("dgx-h100", 1, 1);
  CellPrecision precision;
  double single = costOp(op, {}, topology, precision).seconds;
  op.launch = Launch::Replayed;
  EXPECT_NEAR(single - costOp(op, {}, topology, precision).seconds, 4e-6 - 0.54e-6, 1e-15);
}

// The gradient of logits takes the place of the saved logits, and so no further memory, in 16 bits
// and in 32.
TEST_F(OwnKernels, LogitsAreThereOnce) {
  BlockCell cell;
  cell.kept.parts[0] = cell.logits.parts[0] = cell.backwardTransient.parts[0] = 4e6;
  Topology topology = *loadTopology("dgx-h100", 1, 1);
  for (Precision type : {Precision::BF16, Precision::F32}) {
    CellPrecision precision = cellPrecision(type, OptimizerKind::AdamW, *loadStack("dtc-gpu"));
    cell.logitBytes = 4;
    EXPECT_EQ(costWork(cell, {}, topology, precision).transient, 4e6 * precision.activationShare);
    cell.logitBytes = loadStack("dtc-gpu")->logitBytes;
    EXPECT_EQ(costWork(cell, {}, topology, precision).transient, 0);
  }
}

} // namespace dtc

#include "passes/codegen/KernelGrouping.h"
#include "passes/codegen/KernelInterfaces.h"

#include "dialects/graph/Graph.h"
#include "mlir/Parser/Parser.h"
#include "passes/codegen/KernelBuilder.h"
#include <gtest/gtest.h>

using namespace dtc;
using namespace mlir;

namespace {

// The groups of the first function of `source`, as the numbers of its ops in the text.
class GroupedText {
public:
  explicit GroupedText(const char *source, const GroupingLimits &limits = {},
                       StringRef outputApart = "") {
    DialectRegistry registry;
    registry.insert<graph::GraphDialect>();
    registerKernelInterfaces(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(source, &context);
    Block &block = (*module->getOps<graph::FuncOp>().begin()).getBody().front();
    llvm::DenseMap<Operation *, int> numbers;
    for (Operation &op : block)
      numbers.try_emplace(&op, numbers.size());
    graph::OpSet apart;
    if (!outputApart.empty())
      apart = graph::getProducers(graph::getResultsWith(*module->getOps<graph::FuncOp>().begin(),
                                                        graph::kOutputAttr, outputApart));
    for (const KernelGroup &group : groupKernels(block, apart, limits)) {
      groups.emplace_back();
      for (Operation *op : group.ops)
        groups.back().push_back(numbers.lookup(op));
      isKernel.push_back(group.isKernel);
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<std::vector<int>> groups;
  std::vector<bool> isKernel;
};

using Groups = std::vector<std::vector<int>>;

constexpr const char *chain = R"(
graph.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.tanh %0 : tensor<8x8xf32>
  %2 = graph.linear %1, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.add %1, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  graph.return %3 : tensor<8x8xf32>
})";

} // namespace

TEST(KernelGrouping, JoinsUpToTheNextLibraryOp) {
  GroupedText text(chain);
  EXPECT_EQ(text.groups, (Groups{{0, 1}, {2}, {3}}));
  EXPECT_EQ(text.isKernel, (std::vector<bool>{true, false, true}));
}

TEST(KernelGrouping, StopsAtTheLimitOfOps) {
  GroupingLimits limits;
  limits.maxOps = 1;
  EXPECT_EQ(GroupedText(chain, limits).groups, (Groups{{0}, {1}, {2}, {3}}));
}

constexpr const char *scalars = R"(
graph.func @update(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32> {graph.output = "loss"}, tensor<f32> {graph.output = "grad_norm"}) {
  %0 = graph.exp %x : tensor<f32>
  %1 = graph.tanh %y : tensor<f32>
  %2 = graph.negate %0 : tensor<f32>
  %3 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %2, %3 : tensor<f32>, tensor<f32>
})";

// A kernel has a limit on its buffers, and so on its scalars.
TEST(KernelGrouping, StopsAtTheLimitOfScalars) {
  EXPECT_EQ(GroupedText(scalars).groups, (Groups{{0, 1, 2, 3}}));
  GroupingLimits limits;
  limits.maxScalarOps = 2;
  for (const std::vector<int> &group : GroupedText(scalars, limits).groups)
    EXPECT_LE(group.size(), 2u);
}

// Ops that evaluation runs are not fused into a kernel of the update, although the update reads
// them.
TEST(KernelGrouping, KeepsApartWhatRunsWithoutTheRest) {
  EXPECT_EQ(GroupedText(scalars, {}, "loss").groups, (Groups{{0, 2}, {1, 3}}));
}

TEST(KernelGrouping, StopsAtTheLimitOfStreams) {
  GroupingLimits limits;
  limits.maxStreams = 1; // reading %x and writing the result are two
  EXPECT_EQ(GroupedText(chain, limits).groups, (Groups{{0}, {1}, {2}, {3}}));
}

TEST(KernelGrouping, LeavesDistantReadersOfATensorApart) {
  constexpr const char *siblings = R"(
graph.func @f(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.softmax %0 : tensor<8x8xf32>
  %2 = graph.tanh %x : tensor<8x8xf32>
  graph.return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
})";
  EXPECT_EQ(GroupedText(siblings).groups, (Groups{{0, 2}, {1}}));
  GroupingLimits limits;
  limits.siblingDistance = 1;
  EXPECT_EQ(GroupedText(siblings, limits).groups, (Groups{{0}, {1}, {2}}));
}

TEST(KernelGrouping, KeepsShapesApart) {
  EXPECT_EQ(GroupedText(R"(
graph.func @f(%x: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = graph.exp %x : tensor<8xf32>
  %1 = graph.broadcast %0 dims [0] : tensor<8xf32> -> tensor<4x8xf32>
  graph.return %1 : tensor<4x8xf32>
})")
                .groups,
            (Groups{{0}, {1}}));
}

TEST(KernelGrouping, KeepsTheOrderOfEffects) {
  EXPECT_EQ(GroupedText(R"(
graph.parameter @a : tensor<8xf32> init zeros
graph.parameter @b : tensor<8xf32> init zeros
graph.func @f(%x: tensor<8xf32>) {
  graph.set @a, %x : tensor<8xf32>
  %0 = graph.exp %x : tensor<8xf32>
  graph.set @b, %0 : tensor<8xf32>
  graph.return
})")
                .groups,
            (Groups{{0}, {1}, {2}}));
}

// Ops that a layer recomputes read the operands of forward ops, and would bring everything that
// they depend on with them.
TEST(KernelGrouping, KeepsWhatRunsAgainOutOfTheForwardPass) {
  GroupedText text(R"(
graph.func @microbatch(%x: tensor<8x8xf32>) -> (tensor<f32> {graph.accumulated = "loss"}, tensor<8x8xf32>) {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.reduce sum %0 dims [0, 1] scale 1.0 : tensor<8x8xf32> -> tensor<f32>
  %2 = graph.again %x : tensor<8x8xf32>
  %3 = graph.tanh %2 : tensor<8x8xf32>
  %4 = graph.multiply %3, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  graph.return %1, %4 : tensor<f32>, tensor<8x8xf32>
})");
  EXPECT_EQ(text.groups, (Groups{{0}, {1}, {2}, {3, 4}}));
}

// A reader of a part of a sum must finish it. A reader of a whole value must not take it for a
// part.
TEST(KernelGrouping, KeepsPartsOfSumsApartFromWhatIsWhole) {
  GroupedText text(R"(
graph.func @f(%x: tensor<8xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = graph.reduce sum %x dims [0] scale 1.0 {graph.unfinished = array<i64: 2>} : tensor<8xf32> -> tensor<f32>
  %1 = graph.scale %0 by 5.000000e-01 : tensor<f32>
  %2 = graph.scale %s by 2.000000e+00 : tensor<f32>
  %3 = graph.add %1, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %3, %2 : tensor<f32>, tensor<f32>
})");
  EXPECT_EQ(text.groups, (Groups{{0}, {2}, {1, 3}}));
}

// Checks tensor parallelism of software in which it is written by hand, collective by collective.
#include "compiler/describe/frontend/Frontend.h"
#include "compiler/search/planner/PlacementFrontier.h"

#include "models/Gpt2.h"
#include "models/Llama.h"
#include "passes/Pipelines.h"
#include "test/unit/estimate/SmallMixture.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace dtc {
namespace {

// Counts of one layer and phase, by kind.
struct Counts {
  int64_t gathers = 0, scatters = 0, reduces = 0, others = 0;
  bool operator==(const Counts &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Counts &counts) {
  return out << counts.gathers << " all-gathers, " << counts.scatters << " reduce-scatters, "
             << counts.reduces << " all-reduces, " << counts.others << " others";
}

class TextbookPatternTest : public testing::Test {
protected:
  TextbookPatternTest() : context(MLIRContext::Threading::DISABLED) { loadDialects(context); }

  OwningOpRef<ModuleOp> gpt(int64_t sequence) {
    Gpt2Config config;
    config.vocabulary = 51200;
    config.positions = sequence;
    config.width = 6144;
    config.layers = 2;
    config.heads = 48;
    return completed(buildGpt2(&context, config, sequence));
  }

  OwningOpRef<ModuleOp> llama(int64_t sequence, int64_t kvHeads = 8, int64_t experts = 0) {
    LlamaConfig config;
    config.vocabulary = 32768;
    config.width = 4096;
    config.innerWidth = 14336;
    config.layers = 2;
    config.heads = 32;
    config.kvHeads = kvHeads;
    config.headDim = 128;
    config.rotary.base = 500000;
    config.experts = smallMixture(experts, config.innerWidth);
    return completed(buildLlama(&context, config, sequence));
  }

  std::optional<ModelCells> cells(ModuleOp module, int64_t tp, bool sequenceParallel,
                                  bool foldsExperts = false) {
    FoldedModel folded = foldLayers(module);
    return readCells(folded, tp, sequenceParallel, foldsExperts, TensorPattern::Textbook);
  }

  // Counts collectives of all ranks of tensor parallelism, or with `pairs` of those that share a kv
  // head.
  static Counts count(const BlockCell &cell, bool isForward, bool pairs = false) {
    Counts counts;
    for (const CellCollective &each : cell.collectives) {
      if (each.axis != CellAxis::Tp || (each.phase == CellPhase::Forward) != isForward ||
          (each.part.size != 0) != pairs)
        continue;
      ++(each.kind == CollectiveKind::AllGather       ? counts.gathers
         : each.kind == CollectiveKind::ReduceScatter ? counts.scatters
         : each.kind == CollectiveKind::AllReduce     ? counts.reduces
                                                      : counts.others);
    }
    return counts;
  }

  // Weights have no part for each sample.
  static void expectActivations(const ModelCells &found) {
    for (const BlockCell &cell : {found.blocks.front(), found.embedding, found.head})
      for (const CellCollective &each : cell.collectives)
        for (size_t bits = 0; bits < numScaleSets; ++bits)
          EXPECT_TRUE(each.bytes.parts[bits] == 0 || (bits & ScalesWithBatch))
              << cell.name << " sends what is no activation: " << each.bytes.parts[bits];
  }

  MLIRContext context;
};

// Megatron-LM, core/tensor_parallel/layers.py: with sequence parallelism a ColumnParallelLinear
// gathers its input forward and scatters the sum of its gradient, a RowParallelLinear does the
// opposite, and LinearWithGradAccumulationAndAsyncCommunication gathers the column's input again
// for the gradient of its weight. Without it each all-reduces once. A dense layer has two of each.
// torchtitan's parallelize.py does the same in terms of DTensor.
TEST_F(TextbookPatternTest, DenseLayersSendWhatMegatronSends) {
  for (int64_t sequence : {1024, 2048, 8192, 32768}) {
    std::pair<OwningOpRef<ModuleOp>, double> models[] = {
        {gpt(sequence), 6144}, {llama(sequence), 4096}, {llama(sequence, /*kvHeads=*/32), 4096}};
    for (auto &[module, width] : models)
      for (int64_t tp : {2, 4, 8})
        for (bool sequenceParallel : {false, true}) {
          SCOPED_TRACE(std::to_string(sequence) + " tokens, width " + std::to_string(width) +
                       ", tp " + std::to_string(tp) + (sequenceParallel ? " sp" : ""));
          std::optional<ModelCells> found = cells(*module, tp, sequenceParallel);
          ASSERT_TRUE(found);
          const BlockCell &layer = found->blocks.front();
          Counts forward = sequenceParallel ? Counts{2, 2, 0, 0} : Counts{0, 0, 2, 0},
                 backward = sequenceParallel ? Counts{4, 2, 0, 0} : Counts{0, 0, 2, 0};
          EXPECT_EQ(count(layer, /*isForward=*/true), forward);
          EXPECT_EQ(count(layer, /*isForward=*/false), backward);
          CellScale one;
          for (const CellCollective &each : layer.collectives)
            if (each.axis == CellAxis::Tp)
              EXPECT_DOUBLE_EQ(each.bytes.at(one), static_cast<double>(sequence) * width * 4);
          expectActivations(*found);
        }
  }
}

// Muon multiplies whole matrices, however tensor parallelism splits them: 5 (4 m^2 n + 2 m^3) flops
// for one of m rows and n columns, m the fewer. The output layer's is none of them.
TEST_F(TextbookPatternTest, MatricesAreWhole) {
  CellScale one;
  OwningOpRef<ModuleOp> module = llama(2048);
  double m = 4096, inner = 14336, kv = 1024;
  double square = 6 * m * m * m, small = 4 * kv * kv * m + 2 * kv * kv * kv,
         large = 4 * m * m * inner + 2 * m * m * m;
  for (int64_t tp : {1, 4}) {
    std::optional<ModelCells> found = cells(*module, tp, false);
    ASSERT_TRUE(found);
    const BlockCell &layer = found->blocks.front();
    EXPECT_DOUBLE_EQ(layer.matrixElements.at(one), 2 * m * m + 2 * kv * m + 3 * inner * m);
    EXPECT_DOUBLE_EQ(layer.matrixFlops.at(one), 5 * (2 * square + 2 * small + 3 * large));
    EXPECT_EQ(found->head.matrixElements.at(one), 0);
    EXPECT_EQ(found->embedding.matrixElements.at(one), 0);
  }
}

// Gradients of norms, and of biases that are added after a scatter, are sums over the ranks that
// are all-reduced once per step. Without sequence parallelism all ranks have them.
TEST_F(TextbookPatternTest, OnlyNormsAndBiasesHaveSharedGradients) {
  CellScale one;
  for (bool sequenceParallel : {false, true}) {
    OwningOpRef<ModuleOp> gated = llama(8192), plain = gpt(2048);
    double width = sequenceParallel ? 4096 : 0;
    EXPECT_EQ(cells(*gated, 4, sequenceParallel)->blocks.front().sharedGradients.at(one),
              2 * width);
    width = sequenceParallel ? 6144 : 0; // two weights and biases of norms, two biases of products
    EXPECT_EQ(cells(*plain, 4, sequenceParallel)->blocks.front().sharedGradients.at(one),
              6 * width);
  }
}

// A rank holds an equal part of what a layer keeps. Without sequence parallelism the stream (the
// layer's input, the sum in the middle, and both after their norms) is whole (Korthikanti et al.
// 2022, arXiv:2205.05198, section 4).
TEST_F(TextbookPatternTest, KeepsWhatMegatronKeeps) {
  OwningOpRef<ModuleOp> module = llama(4096);
  CellScale one;
  double whole = cells(*module, 1, false)->blocks.front().kept.at(one);
  double stream = 4096.0 * 4096 * 4;
  for (int64_t tp : {2, 8}) {
    auto ranks = static_cast<double>(tp);
    double parts = cells(*module, tp, true)->blocks.front().kept.at(one);
    EXPECT_NEAR(parts, whole / ranks, 0.01 * whole / ranks) << tp;
    std::optional<ModelCells> streamed = cells(*module, tp, false);
    const BlockCell &layer = streamed->blocks.front();
    EXPECT_DOUBLE_EQ(layer.input.at(one), stream);
    double expected = 4 * stream + (whole - 4 * stream) / ranks;
    EXPECT_NEAR(layer.kept.at(one), expected, 0.01 * expected) << tp;
  }
}

// The model has 8 kv heads on 16 ranks: keys and values of a head are gathered in pairs of ranks,
// and nothing else differs from the pattern. Keys are kept after rotary embedding, where they are
// whole, and so are their gradients before it. Values are kept in parts and gathered again, and
// their gradients are scattered.
TEST_F(TextbookPatternTest, RanksShareKvHeadsInPairs) {
  OwningOpRef<ModuleOp> module = llama(8192);
  for (bool sequenceParallel : {false, true}) {
    std::optional<ModelCells> found = cells(*module, 16, sequenceParallel);
    ASSERT_TRUE(found);
    const BlockCell &layer = found->blocks.front();
    Counts forward = sequenceParallel ? Counts{2, 2, 0, 0} : Counts{0, 0, 2, 0},
           backward = sequenceParallel ? Counts{4, 2, 0, 0} : Counts{0, 0, 2, 0};
    EXPECT_EQ(count(layer, true), forward);
    EXPECT_EQ(count(layer, false), backward);
    EXPECT_EQ(count(layer, true, /*pairs=*/true), (Counts{2, 0, 0, 0}));
    EXPECT_EQ(count(layer, false, /*pairs=*/true), (Counts{1, 1, 1, 0}));
    expectActivations(*found);
  }
}

// Tables are split by words. A table of positions, norms and routers are whole.
TEST_F(TextbookPatternTest, SplitsTablesByWords) {
  for (int64_t experts : {0, 8})
    for (bool sequenceParallel : {false, true}) {
      OwningOpRef<ModuleOp> module = experts ? llama(2048, 8, experts) : gpt(2048);
      FoldedModel folded = foldLayers(*module);
      std::optional<SearchedPlacements> found = PlacementSearcher(folded).megatron(
          8, sequenceParallel, /*foldsExperts=*/false, TensorPattern::Textbook);
      ASSERT_TRUE(found);
      for (const auto &[name, dims] : found->parameters) {
        llvm::StringRef symbol(name);
        bool isTable =
            symbol.contains("wte") || symbol.contains("embed_tokens") || symbol.contains("lm_head");
        bool isWhole = symbol.contains("wpe") || symbol.contains("ln_") ||
                       symbol.contains("norm") || symbol.contains("block_sparse_moe.gate");
        if (isTable)
          EXPECT_EQ(dims.front(), 0) << name;
        if (isWhole)
          EXPECT_EQ(dims.front(), -1) << name;
      }
    }
}

// Experts are split like dense layers, or folded over the ranks. Their weights are not moved.
TEST_F(TextbookPatternTest, MixturesSendActivationsAlone) {
  OwningOpRef<ModuleOp> module = llama(2048, 8, /*experts=*/8);
  for (int64_t tp : {2, 8})
    for (bool sequenceParallel : {false, true})
      for (bool folds : {false, true}) {
        if (folds && !sequenceParallel)
          continue;
        std::optional<ModelCells> found = cells(*module, tp, sequenceParallel, folds);
        ASSERT_TRUE(found) << tp << sequenceParallel << folds;
        expectActivations(*found);
      }
}

} // namespace
} // namespace dtc

// Tests which CUDA kernels the host chooses, and which requests it refuses.
#include "kernels/cuda/Attention.h"
#include "kernels/cuda/Convolution.h"
#include "kernels/cuda/Embedding.h"
#include "kernels/cuda/GroupedGemm.h"
#include "kernels/cuda/Pooling.h"
#include "kernels/cuda/bitcode/Bitcode.h"
#include "test/unit/cuda/KernelList.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

namespace dtc::cuda {
namespace {

AttentionParams attentionOf(int tokens, int heads, int kvHeads, int headDim, int batch) {
  AttentionParams p{};
  p.batch = batch, p.queries = p.keys = tokens, p.heads = heads, p.kvHeads = kvHeads;
  p.headDim = headDim, p.causal = 1, p.scale = 0.125F;
  p.qStrides = p.outStrides = p.doutStrides = p.dqStrides = denseStrides(tokens, heads, headDim);
  p.kStrides = p.vStrides = p.dkStrides = p.dvStrides = denseStrides(tokens, kvHeads, headDim);
  return p;
}

std::vector<std::string> names(const std::vector<Launch> &launches) {
  std::vector<std::string> names;
  for (const Launch &launch : launches)
    names.push_back(launch.kernel);
  return names;
}

TEST(AttentionPlan, IsThatOfTheHeader) {
  AttentionParams p = attentionOf(100, 8, 8, 64, 2);
  std::vector<Launch> launches;
  ASSERT_EQ(planAttention(ElementType::F32, p, launches), "");
  Launch expected{"AttentionGeneral_forward_f32_64", 2 * 8 * 2, 1, 256, 44032};
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0], expected);
}

TEST(AttentionPlan, TakesTensorCoresWhereRowsAreWholeVectors) {
  using Names = std::vector<std::string>;
  std::vector<Launch> launches;
  AttentionParams p = attentionOf(1024, 12, 4, 64, 1);
  setDropout(p, 0.1f);
  ASSERT_EQ(planAttention(ElementType::BF16, p, launches), "");
  EXPECT_EQ(names(launches), Names{"AttentionForward_bf16_64_dropout"});
  EXPECT_EQ(launches[0].gridX, 16u * 12);
  ASSERT_EQ(planAttentionGrad(ElementType::BF16, p, launches), "");
  EXPECT_EQ(names(launches), (Names{"AttentionBackward_queries_bf16_64_dropout",
                                    "AttentionBackward_keys_bf16_64_dropout"}));
  EXPECT_EQ(launches[1].gridX, 16u * 4);
  setDropout(p, 0);
  ASSERT_EQ(planAttentionGrad(ElementType::BF16, p, launches), "");
  EXPECT_EQ(launches[0].gridX, 8u * 12); // 128 rows per block
  EXPECT_EQ(launches[1].gridX, 8u * 4);
  p = attentionOf(64, 2, 2, 200, 1);
  ASSERT_EQ(planAttentionGrad(ElementType::F16, p, launches), "");
  EXPECT_EQ(names(launches),
            (Names{"AttentionBackward_queries_f16_256", "AttentionBackward_keysA_f16_256",
                   "AttentionBackward_keysB_f16_256"}));
  p.dkStrides.token += 4;
  ASSERT_EQ(planAttentionGrad(ElementType::F16, p, launches), "");
  EXPECT_EQ(names(launches),
            (Names{"AttentionGeneral_queries_f16_256", "AttentionGeneral_keys_f16_256"}));
}

// Prefixes, lengths, documents, starts, biases, slopes and values of another head dim are the
// general kernels' alone.
TEST(AttentionPlan, TakesNoTensorCoresForOtherMasksAndScores) {
  std::vector<Launch> launches;
  auto set = [](const std::function<void(AttentionParams &)> &change) {
    AttentionParams p = attentionOf(64, 2, 2, 64, 1);
    change(p);
    return p;
  };
  for (const AttentionParams &p :
       {set([](AttentionParams &p) { p.prefix = 3; }),
        set([](AttentionParams &p) { p.hasLengths = 1; }),
        set([](AttentionParams &p) { p.hasSlopes = 1; }),
        set([](AttentionParams &p) { p.hasDocuments = 1; }),
        set([](AttentionParams &p) { p.hasStarts = 1; }),
        set([](AttentionParams &p) { p.valueDim = 40; }),
        set([](AttentionParams &p) { std::fill_n(p.biasSizes, 4, 1); })}) {
    ASSERT_EQ(planAttention(ElementType::BF16, p, launches), "");
    EXPECT_EQ(names(launches), std::vector<std::string>{"AttentionGeneral_forward_bf16_64"});
  }
  AttentionParams wide = set([](AttentionParams &p) { p.valueDim = 100; });
  ASSERT_EQ(planAttention(ElementType::BF16, wide, launches), "");
  EXPECT_EQ(names(launches), std::vector<std::string>{"AttentionGeneral_forward_bf16_128"});
}

// Sinks are added to sums that the kernels have made; those with dropout have no registers left.
TEST(AttentionPlan, TakesTensorCoresWithSinks) {
  std::vector<Launch> launches;
  AttentionParams p = attentionOf(64, 2, 2, 64, 1);
  p.hasSinks = 1, p.window = 16;
  ASSERT_EQ(planAttention(ElementType::BF16, p, launches), "");
  EXPECT_EQ(names(launches), std::vector<std::string>{"AttentionForward_bf16_64"});
  setDropout(p, 0.1f);
  ASSERT_EQ(planAttention(ElementType::BF16, p, launches), "");
  EXPECT_EQ(names(launches), std::vector<std::string>{"AttentionGeneral_forward_bf16_64_dropout"});
}

TEST(AttentionPlan, RefusesDocumentsWithAPrefixOrFewerKeys) {
  std::vector<Launch> launches;
  AttentionParams p = attentionOf(64, 2, 2, 64, 1);
  p.hasDocuments = p.prefix = 1;
  EXPECT_EQ(planAttention(ElementType::F32, p, launches),
            "attention: documents with a prefix of 1, 64 queries and 64 keys; they have no prefix, "
            "and as many keys at least");
  p.prefix = 0, p.causal = 0, p.keys = 63;
  EXPECT_NE(planAttention(ElementType::F32, p, launches), "");
}

TEST(AttentionPlan, RefusesStartsThatOverflowOrIndexKeysOtherwise) {
  std::vector<Launch> launches;
  auto error = [&](const std::function<void(AttentionParams &)> &change) {
    AttentionParams p = attentionOf(64, 2, 2, 64, 1);
    p.hasStarts = 1;
    change(p);
    return planAttentionGrad(ElementType::F32, p, launches);
  };
  EXPECT_EQ(error([](AttentionParams &p) { p.window = (1 << 30) - 1; }), "");
  EXPECT_EQ(error([](AttentionParams &p) { p.window = 1 << 30; }),
            "attention: starts with a window of 1073741824 keys; want one below 2^30");
  EXPECT_EQ(error([](AttentionParams &p) { p.queries = 1 << 29; }),
            "attention: starts with 536870912 tokens; they are for fewer than 2^29");
  EXPECT_EQ(error([](AttentionParams &p) { p.keys = 1 << 29; }),
            "attention: starts with 536870912 tokens; they are for fewer than 2^29");
  EXPECT_EQ(error([](AttentionParams &p) { p.hasDocuments = 1; }),
            "attention: starts with documents");
  EXPECT_EQ(error([](AttentionParams &p) { setDropout(p, 0.1f); }),
            "attention: starts with dropout");
}

TEST(AttentionPlan, HasABlockPerTileOfTheBiasGradient) {
  std::vector<Launch> launches;
  AttentionParams p = attentionOf(100, 8, 4, 64, 2);
  const int32_t sizes[] = {1, 8, 100, 100};
  std::copy_n(sizes, 4, p.biasSizes);
  p.hasBiasGradient = 1;
  ASSERT_EQ(planAttentionGrad(ElementType::F32, p, launches), "");
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[2].kernel, "AttentionGeneral_bias_f32_64");
  EXPECT_EQ(launches[2].gridX, 8u * 2 * 4); // 64 queries by 32 keys
  p.biasSizes[3] = 7;
  EXPECT_EQ(planAttentionGrad(ElementType::F32, p, launches),
            "attention: dim 3 of the bias is 7; it has to be 1 or 100");
}

// The tensor-core kernels assume that the largest product has the largest weight.
TEST(AttentionPlan, TakesNoTensorCoresWhereTheScaleIsNotPositive) {
  std::vector<Launch> launches;
  AttentionParams p = attentionOf(64, 2, 2, 64, 1);
  for (float scale : {0.0F, -0.125F}) {
    p.scale = scale;
    ASSERT_EQ(planAttention(ElementType::BF16, p, launches), "");
    EXPECT_EQ(names(launches), std::vector<std::string>{"AttentionGeneral_forward_bf16_64"});
  }
}

TEST(AttentionPlan, LaunchesNothingWhereThereIsNothing) {
  std::vector<Launch> launches;
  AttentionParams p = attentionOf(0, 2, 2, 64, 1);
  EXPECT_EQ(planAttention(ElementType::BF16, p, launches), "");
  EXPECT_TRUE(launches.empty());
  p.keys = 5; // dk and dv are zeros
  EXPECT_EQ(planAttentionGrad(ElementType::BF16, p, launches), "");
  EXPECT_EQ(launches.size(), 1u);
}

TEST(AttentionPlan, SaysWhatItCannotDo) {
  std::vector<Launch> launches;
  auto plan = [&](const AttentionParams &p) {
    return planAttention(ElementType::BF16, p, launches);
  };
  EXPECT_EQ(plan(attentionOf(8, 2, 2, 257, 1)),
            "attention: the head dim is 257, kernels have 1 to 256");
  EXPECT_EQ(plan(attentionOf(8, 3, 2, 64, 1)),
            "attention: 3 heads do not divide evenly over 2 kv heads");
  EXPECT_EQ(plan(attentionOf(1 << 30, 4, 4, 64, 1)),
            "attention: 1073741824 queries and 1073741824 keys are together more than 2^31 - 385");
  EXPECT_EQ(
      plan(attentionOf(1 << 20, 1 << 10, 1, 64, 1 << 10)),
      "attention: kernel 'AttentionForward_bf16_64' needs 8192 blocks for 1048576 heads each, "
      "a grid has 2147483647");
  AttentionParams p = attentionOf(8, 2, 2, 64, 1);
  p.causal = 0, p.window = -4;
  EXPECT_EQ(plan(p), "attention: a window of -4 keys; it is not to be negative");
  p.window = 0, p.prefix = 3;
  EXPECT_EQ(plan(p), "attention: a prefix of 3 keys; it has to be causal without a window, and not "
                     "negative");
  p.prefix = 0, p.softCap = -1;
  EXPECT_EQ(plan(p), "attention: a soft cap of -1.000000 with a scale of 0.125000; it has to be a "
                     "number of 0 or more, and not of zeros");
  p.softCap = 0;
  p.v = reinterpret_cast<const void *>(uintptr_t(0x1008));
  EXPECT_EQ(plan(p), "attention: a tensor begins 8 bytes after a multiple of 16; tensors of 16-bit "
                     "numbers begin at one");
}

TEST(AttentionPlan, DropsAsManyAsTheCpu) {
  AttentionParams p{};
  setDropout(p, 0.25f);
  EXPECT_EQ(p.keptFrom, uint64_t(1) << 30);
  EXPECT_EQ(p.keptScale, 1 / 0.75f);
  setDropout(p, 1);
  EXPECT_EQ(p.keptFrom, uint64_t(1) << 32);
  EXPECT_EQ(p.keptScale, 0);
  setDropout(p, 0);
  EXPECT_EQ(p.keptFrom, 0u);
}

TEST(EmbeddingPlan, TakesTheLargestUnit) {
  std::vector<Launch> launches;
  EmbeddingParams p{nullptr, nullptr, nullptr, 50257, 768, 1000, 0, 0};
  ASSERT_EQ(planEmbedding(ElementType::BF16, p, launches), "");
  EXPECT_EQ(launches[0], (Launch{"Embedding_16", 125, 1, 256, 0}));
  EXPECT_EQ(p.rowUnits, 96);
  p.columns = 3;
  ASSERT_EQ(planEmbedding(ElementType::BF16, p, launches), "");
  EXPECT_EQ(launches[0].kernel, "Embedding_2");
}

TEST(EmbeddingPlan, SpreadsRowsOverBlocks) {
  std::vector<Launch> launches;
  EmbeddingGradParams p{nullptr, nullptr, nullptr, 50257, 768, 1000, 0, 0, 0};
  ASSERT_EQ(planEmbeddingGrad(ElementType::BF16, p, launches), "");
  EXPECT_EQ(p.rowsPerBlock, 50);
  EXPECT_EQ(launches[0], (Launch{"EmbeddingGrad_bf16_4", 1006, 1, 256, 0}));
}

// There is a block for each tile of rows, and one more for each group, which may cut a tile off.
TEST(GroupedGemmPlan, HasBlocksForAnyCounts) {
  std::vector<Launch> launches;
  GroupedGemmParams p{};
  p.groups = 8, p.samples = 4, p.rows = 1024, p.k = 512, p.n = 1792;
  ASSERT_EQ(planGroupedGemm(ElementType::BF16, ElementType::F32, p, launches), "");
  EXPECT_EQ(launches[0], (Launch{"GroupedGemm_bf16_f32_rows", 16 * 14, 1, 256, 61440}));
  p.sumsRows = 1;
  ASSERT_EQ(planGroupedGemm(ElementType::F16, ElementType::F16, p, launches), "");
  EXPECT_EQ(launches[0], (Launch{"GroupedGemm_f16_f16_sums", 8 * 4 * 14, 1, 256, 61440}));
  p.sumsRows = 0;
  ASSERT_EQ(planGroupedGemm(ElementType::F32, ElementType::F32, p, launches), "");
  EXPECT_EQ(launches[0], (Launch{"GroupedGemmGeneral_f32_f32", 24 * 14, 1, 256, 0}));
  p.k = 12; // rows are not whole 16 bytes
  ASSERT_EQ(planGroupedGemm(ElementType::BF16, ElementType::BF16, p, launches), "");
  EXPECT_EQ(launches[0].kernel, "GroupedGemmGeneral_bf16_bf16");
  p.k = 16, p.rows = p.groups = p.n = 0x7FFFFFFF;
  EXPECT_NE(planGroupedGemm(ElementType::BF16, ElementType::BF16, p, launches), "");
}

// ResNet-18's second convolution: tiles of 64 filters and 64 pixels, or of 64 taps and 8 pieces of
// the batch.
TEST(ConvolutionPlan, HasABlockForEachTile) {
  std::vector<Launch> launches;
  ConvolutionParams p{};
  p.batch = 32, p.channels = p.filters = 64, p.groups = 1, p.height = p.width = 32;
  p.kernelHeight = p.kernelWidth = 3, p.strideHeight = p.strideWidth = 1;
  p.paddingHeight = p.paddingWidth = p.dilationHeight = p.dilationWidth = 1;
  p.pieces = 8;
  ASSERT_EQ(planConvolution(p, launches), "");
  EXPECT_EQ(launches, std::vector<Launch>({{"Convolution_forward", 512, 1, 256, 0}}));
  ASSERT_EQ(planConvolutionInputGrad(p, launches), "");
  EXPECT_EQ(launches, std::vector<Launch>({{"Convolution_inputGrad", 512, 1, 256, 0}}));
  ASSERT_EQ(planConvolutionWeightGrad(p, launches), "");
  EXPECT_EQ(launches, std::vector<Launch>({{"Convolution_weightGrad", 9 * 8, 1, 256, 0},
                                           {"Convolution_sumPieces", 144, 1, 256, 0}}));
}

TEST(ConvolutionPlan, RefusesWhatKernelsCannotCount) {
  std::vector<Launch> launches;
  ConvolutionParams p{};
  p.batch = 1 << 20, p.channels = p.filters = p.groups = 1, p.height = p.width = 64;
  p.kernelHeight = p.kernelWidth = p.strideHeight = p.strideWidth = 1;
  p.dilationHeight = p.dilationWidth = 1;
  EXPECT_EQ(planConvolution(p, launches), "convolution: kernel 'Convolution_forward' has products "
                                          "of at most 2147483647 columns and terms");
  p.kernelHeight = 65;
  EXPECT_EQ(planConvolution(p, launches), "convolution: the kernel does not fit into the image");
  p.kernelHeight = 0;
  EXPECT_EQ(planConvolution(p, launches), "convolution: a size is below 1");
  p.kernelHeight = 1, p.pieces = 0;
  EXPECT_NE(planConvolutionWeightGrad(p, launches), "");
}

TEST(PoolingPlan, HasAThreadForEachPixel) {
  std::vector<Launch> launches;
  PoolingParams p{};
  p.planes = 100, p.height = p.width = 8;
  p.kernelHeight = p.kernelWidth = p.strideHeight = p.strideWidth = 2;
  ASSERT_EQ(planPooling(/*isMax=*/true, /*isGradient=*/false, p, launches), "");
  EXPECT_EQ(launches, std::vector<Launch>({{"Pooling_max", 7, 1, 256, 0}}));
  ASSERT_EQ(planPooling(/*isMax=*/false, /*isGradient=*/true, p, launches), "");
  EXPECT_EQ(launches, std::vector<Launch>({{"Pooling_meanGrad", 25, 1, 256, 0}}));
  p.paddingWidth = 2;
  EXPECT_NE(planPooling(/*isMax=*/true, /*isGradient=*/false, p, launches), "");
}

// The host and the device code have the same names of kernels.
TEST(CudaBitcode, HasEveryKernelThatIsPlanned) {
  EXPECT_EQ(findBitcode("NoSuch_kernel"), nullptr);
  std::vector<Launch> launches = allLaunches();
  EXPECT_GT(launches.size(), 150u);
  for (const Launch &launch : launches) {
    const BitcodeFile *file = findBitcode(launch.kernel);
    ASSERT_NE(file, nullptr) << launch.kernel;
    auto at = std::search(file->bytes.begin(), file->bytes.end(), launch.kernel.begin(),
                          launch.kernel.end());
    EXPECT_NE(at, file->bytes.end()) << launch.kernel;
    EXPECT_LE(launch.sharedBytes, 163 * 1024u) << launch.kernel; // limit per block on sm_80
  }
}

} // namespace
} // namespace dtc::cuda

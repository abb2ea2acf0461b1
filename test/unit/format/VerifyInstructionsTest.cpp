// Corrupts one field of a good program's instructions at a time.
#include "runtime/format/Operands.h"
#include "runtime/format/Verify.h"

#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace dtc::format {
namespace {

using test::SampleIndices;
using test::verify;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr uint64_t huge = uint64_t(1) << 40;

struct Corruption {
  const char *name;
  uint32_t SampleIndices::*instruction;
  std::function<void(InstructionT &)> apply;
  const char *message;
};

// Prints the name for GoogleTest. NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const Corruption &corruption, std::ostream *out) { *out << corruption.name; }

class InstructionCorruption : public testing::TestWithParam<Corruption> {};

TEST_P(InstructionCorruption, IsNamed) {
  SampleIndices at;
  test::ProgramBuilder builder = test::sampleProgram(2, {1, 2, 3}, &at);
  builder.file();
  uint32_t index = at.*GetParam().instruction;
  GetParam().apply(*builder.instructions()[index]);
  rt::Status status = verify(builder.manifest);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("instruction " + std::to_string(index) + ", "), std::string::npos)
      << status.message();
}

std::unique_ptr<RankScalarT> scalar(int64_t base, int64_t stride, uint32_t axis) {
  return test::rankScalar(base, {{stride, axis}});
}

using I = InstructionT;
using At = SampleIndices;

const Corruption corruptions[] = {
    {"Stream", &At::zero, [](I &i) { i.stream = 2; }, "the stream is 2, there are 2"},
    {"Location", &At::zero, [](I &i) { i.location = 1; }, "the location is 1, there are 1"},
    {"ZeroBuffer", &At::zero, [](I &i) { i.op.AsZero()->dst = ~0u; },
     "'dst' is buffer 4294967295, there are"},
    {"LaunchKernel", &At::launch, [](I &i) { i.op.AsLaunch()->kernel = 2; },
     "the kernel is 2, there are 2"},
    {"LaunchBuffers", &At::launch, [](I &i) { i.op.AsLaunch()->buffers.pop_back(); },
     "it has 1 buffers and 0 scalars, the kernel takes 2 and 0"},
    {"LaunchScalars", &At::launch,
     [](I &i) { i.op.AsLaunch()->scalars.push_back(test::rankScalar(0)); },
     "it has 2 buffers and 1 scalars"},
    {"LaunchBuffer", &At::launch, [](I &i) { i.op.AsLaunch()->buffers[0] = 99; },
     "'buffers' is buffer 99"},
    {"LaunchBytes", &At::launch, [](I &i) { i.op.AsLaunch()->buffers[0] = 4; },
     "4 bytes, wanted at least 256"},
    {"LaunchRange", &At::launch, [](I &i) { i.op.AsLaunch()->range = 2; },
     "the range is 2, wanted 1 to 1"},
    {"GemmSize", &At::gemm, [](I &i) { i.op.AsGemm()->k = 0; }, "'k' is 0, wanted 1 to 2147483647"},
    {"GemmInt", &At::gemm, [](I &i) { i.op.AsGemm()->lda = huge; }, "'lda' is 1099511627776"},
    {"GemmRows", &At::gemm, [](I &i) { i.op.AsGemm()->m = 9; },
     "'a' is 'mixed' (buffer 8) of 256 bytes, wanted at least 288"},
    {"GemmLd", &At::gemm, [](I &i) { i.op.AsGemm()->ldb = 7; },
     "'ldb' is 7, wanted at least the 8 columns of 'b'"},
    {"GemmBatch", &At::gemm,
     [](I &i) {
       i.op.AsGemm()->batch = 2;
       i.op.AsGemm()->stride_c = 64;
     },
     "'c' is 'z' (buffer 11) of 256 bytes, wanted at least 512"},
    {"GemmBatchOverlap", &At::gemm, [](I &i) { i.op.AsGemm()->batch = 2; },
     "the batch stride of 'c' is 0, at which its 2 products of 8 x 8 overlap"},
    {"GemmStride", &At::gemm, [](I &i) { i.op.AsGemm()->stride_a = ~uint64_t(0); },
     "the batch stride of 'a' is 18446744073709551615"},
    {"GemmAlpha", &At::gemm, [](I &i) { i.op.AsGemm()->alpha = nan; },
     "'alpha' is nan, wanted a finite number"},
    {"GemmInPlace", &At::gemm, [](I &i) { i.op.AsGemm()->c = i.op.AsGemm()->a; },
     "'a' and 'c' share memory"},
    {"GemmType", &At::gemm, [](I &i) { i.op.AsGemm()->a = 2; }, "of i32, wanted f32"},
    {"GemmDType", &At::gemm, [](I &i) { i.op.AsGemm()->dtype = DType::i32; },
     "'dtype' is 3, wanted f32, bf16 or f16"},
    {"GemmNarrow", &At::gemm, [](I &i) { i.op.AsGemm()->dtype = DType::bf16; },
     "of f32, wanted bf16"},
    {"GemmResultDType", &At::gemm, [](I &i) { i.op.AsGemm()->result_dtype = DType::f16; },
     "'result_dtype' is 2, wanted f32 or 'dtype'"},
    {"GemmEpilogue", &At::gemm, [](I &i) { i.op.AsGemm()->epilogue = static_cast<Epilogue>(9); },
     "'epilogue' is 9, wanted at most 4"},
    {"GemmEpilogueBatch", &At::gemm,
     [](I &i) {
       i.op.AsGemm()->epilogue = Epilogue::bias;
       i.op.AsGemm()->batch = 2;
       i.op.AsGemm()->stride_c = 64;
     },
     "wanted one product that is not added to 'c'"},
    {"GemmEpilogueBeta", &At::gemm,
     [](I &i) {
       i.op.AsGemm()->addend = i.op.AsGemm()->a;
       i.op.AsGemm()->beta = 1;
     },
     "'epilogue' is none with an addend, 'batch' 1 and 'beta' 1"},
    {"GemmBias", &At::gemm, [](I &i) { i.op.AsGemm()->epilogue = Epilogue::bias; },
     "'bias' is buffer 4294967295"},
    {"GemmAux", &At::gemm, [](I &i) { i.op.AsGemm()->epilogue = Epilogue::dgelu; },
     "'aux' is buffer 4294967295"},
    {"GemmNoBias", &At::gemm, [](I &i) { i.op.AsGemm()->bias = i.op.AsGemm()->a; },
     "there is a 'bias', and 'epilogue' is none"},
    {"GemmNoAux", &At::gemm, [](I &i) { i.op.AsGemm()->aux = i.op.AsGemm()->a; },
     "there is an 'aux', and 'epilogue' is none"},
    {"GemmAddendInPlace", &At::gemm, [](I &i) { i.op.AsGemm()->addend = i.op.AsGemm()->c; },
     "'addend' and 'c' share memory"},
    {"GemmAuxInPlace", &At::gemm,
     [](I &i) {
       i.op.AsGemm()->epilogue = Epilogue::gelu_aux_bias;
       i.op.AsGemm()->bias = i.op.AsGemm()->b;
       i.op.AsGemm()->aux = i.op.AsGemm()->a;
     },
     "'a' and 'aux' share memory"},
    {"GemmOnCpu", &At::gemm, [](I &i) { i.op.AsGemm()->addend = i.op.AsGemm()->a; },
     "it does more than multiply ('epilogue' is none, with an addend), which the device of the "
     "file, cpu, does not"},
    {"AttentionDType", &At::attention, [](I &i) { i.op.AsAttention()->dtype = DType::u8; },
     "'dtype' is 5, wanted f32, bf16 or f16"},
    {"AttentionGradNarrow", &At::attentionGrad,
     [](I &i) { i.op.AsAttentionGrad()->forward->dtype = DType::f16; }, "of f32, wanted f16"},
    {"EmbeddingNarrow", &At::embedding, [](I &i) { i.op.AsEmbedding()->dtype = DType::bf16; },
     "of f32, wanted bf16"},
    {"AttentionHeads", &At::attention, [](I &i) { i.op.AsAttention()->kv_heads = 3; },
     "'heads' is 2, wanted a multiple of kv_heads, 3"},
    {"AttentionKeys", &At::attention, [](I &i) { i.op.AsAttention()->keys = 5; },
     "'k' is 'x' (buffer 7) of 256 bytes, wanted at least 320"},
    {"AttentionCausal", &At::attention, [](I &i) { i.op.AsAttention()->keys = 3; },
     "causal with 4 queries and 3 keys"},
    {"AttentionOverflow", &At::attention,
     [](I &i) {
       AttentionT &op = *i.op.AsAttention();
       op.batch = op.heads = op.kv_heads = op.total_heads = 1u << 30;
       op.head_dim = 1u << 30;
       op.bias = op.lengths = op.slopes = op.documents = noBuffer;
       op.bias_sizes.clear();
     },
     "more than fit in 64 bits"},
    {"AttentionLse", &At::attention, [](I &i) { i.op.AsAttention()->lse = 4; },
     "'lse' is 'step' (buffer 4) of 4 bytes, wanted at least 64"},
    {"AttentionScale", &At::attention, [](I &i) { i.op.AsAttention()->scale = INFINITY; },
     "'scale' is inf"},
    {"AttentionDropout", &At::attention, [](I &i) { i.op.AsAttention()->dropout = 1; },
     "'dropout' is 1, wanted at least 0 and less than 1"},
    {"AttentionDropoutNan", &At::attention, [](I &i) { i.op.AsAttention()->dropout = nan; },
     "'dropout' is nan"},
    {"AttentionWindow", &At::attention, [](I &i) { i.op.AsAttention()->window = 1ull << 40; },
     "'window' is 1099511627776, wanted 1 to 2147483647"},
    {"AttentionSoftCap", &At::attention, [](I &i) { i.op.AsAttention()->soft_cap = -2; },
     "'soft_cap' is -2, wanted 0 or more"},
    {"AttentionSoftCapNan", &At::attention, [](I &i) { i.op.AsAttention()->soft_cap = nan; },
     "'soft_cap' is nan"},
    {"AttentionSeed", &At::attention, [](I &i) { i.op.AsAttention()->seed = ~0u; },
     "'seed' is buffer 4294967295"},
    {"AttentionStep", &At::attention, [](I &i) { i.op.AsAttention()->step = 6; },
     "'step' is 'seed' (buffer 6) of i64, wanted f32"},
    {"AttentionFirstBatch", &At::attention,
     [](I &i) { i.op.AsAttention()->first_batch = scalar(0, -2, 0); },
     "'first_batch' is -2 to 0 over the ranks, wanted 0 to 281474976710656"},
    {"AttentionFirstHead", &At::attention,
     [](I &i) { i.op.AsAttention()->first_head = scalar(int64_t(1) << 31, 0, 0); },
     "'first_head' is 2147483648 to 2147483648 over the ranks, wanted 0 to 2147483647"},
    {"AttentionInPlace", &At::attention,
     [](I &i) { i.op.AsAttention()->out = i.op.AsAttention()->q; }, "'q' and 'out' share memory"},
    {"AttentionTotalHeads", &At::attention, [](I &i) { i.op.AsAttention()->total_heads = 0; },
     "'total_heads' is 0"},
    {"AttentionGradScratch", &At::attentionGrad, [](I &i) { i.op.AsAttentionGrad()->scratch = 4; },
     "'scratch' is 'step'"},
    {"AttentionGradDlse", &At::attentionGrad, [](I &i) { i.op.AsAttentionGrad()->dlse = 4; },
     "'dlse' is 'step' (buffer 4) of 4 bytes, wanted at least 64"},
    {"AttentionGradForward", &At::attentionGrad,
     [](I &i) { i.op.AsAttentionGrad()->forward->head_dim = 8; }, "wanted at least 512"},
    {"AttentionRow", &At::attention, [](I &i) { i.op.AsAttention()->q_row = 7; },
     "'q_row' is 7, wanted 0 or 8 to 2147483647"},
    {"AttentionRowsReach", &At::attention, [](I &i) { i.op.AsAttention()->v_row = 9; },
     "'v' is 'x' (buffer 7) of 256 bytes, wanted at least 284"},
    {"AttentionGradRow", &At::attentionGrad, [](I &i) { i.op.AsAttentionGrad()->dk_row = 7; },
     "'dk_row' is 7, wanted 0 or 8 to 2147483647"},
    {"AttentionPrefix", &At::attention, [](I &i) { i.op.AsAttention()->prefix = 2; },
     "'prefix' is 2, wanted at most keys, 4, of 'causal' attention without a 'window'"},
    {"AttentionValueDim", &At::attention, [](I &i) { i.op.AsAttention()->value_dim = 5; },
     "'v' is 'x' (buffer 7) of 256 bytes, wanted at least 320"},
    {"AttentionLengths", &At::attention, [](I &i) { i.op.AsAttention()->lengths = 7; },
     "'lengths' is 'x' (buffer 7) of f32, wanted i32"},
    {"AttentionDocuments", &At::attention, [](I &i) { i.op.AsAttention()->documents = 7; },
     "'documents' is 'x' (buffer 7) of f32, wanted i32"},
    {"AttentionDocumentsSize", &At::attention,
     [](I &i) {
       i.op.AsAttention()->keys = 5;
       i.op.AsAttention()->head_dim = i.op.AsAttention()->value_dim = 2;
     },
     "'documents' is 'tokens' (buffer 2) of 32 bytes, wanted at least 40"},
    {"AttentionDocumentsPrefix", &At::attention,
     [](I &i) {
       i.op.AsAttention()->prefix = 2;
       i.op.AsAttention()->window = 0;
     },
     "'documents' with a prefix of 2, 4 queries and 4 keys, wanted no prefix"},
    {"AttentionBias", &At::attention, [](I &i) { i.op.AsAttention()->bias_sizes[3] = 3; },
     "size 3 of bias is 3, wanted 1 or 4"},
    {"AttentionBiasSizes", &At::attention, [](I &i) { i.op.AsAttention()->bias_sizes.clear(); },
     "bias has 0 sizes, wanted 4"},
    {"AttentionSlopes", &At::attention, [](I &i) { i.op.AsAttention()->slopes = 4; },
     "'slopes' is 'step' (buffer 4) of 4 bytes, wanted at least 8"},
    {"AttentionSinks", &At::attention, [](I &i) { i.op.AsAttention()->sinks = 4; },
     "'sinks' is 'step' (buffer 4) of 4 bytes, wanted at least 8"},
    {"AttentionStartsOfDocuments", &At::attention, [](I &i) { i.op.AsAttention()->starts = 2; },
     "'starts' with documents, or with a dropout of 0.125, wanted neither"},
    {"AttentionStartsOfDocumentsAlone", &At::attention,
     [](I &i) {
       i.op.AsAttention()->starts = 2;
       i.op.AsAttention()->dropout = 0;
     },
     "'starts' with documents, or with a dropout of 0, wanted neither"},
    {"AttentionStarts", &At::attention,
     [](I &i) {
       i.op.AsAttention()->starts = 4;
       i.op.AsAttention()->documents = ~0u;
       i.op.AsAttention()->dropout = 0;
     },
     "'starts' is 'step' (buffer 4) of f32, wanted i32"},
    {"AttentionGradStarts", &At::attentionGrad,
     [](I &i) { i.op.AsAttentionGrad()->forward->starts = 2; },
     "'starts' with documents, or with a dropout of 0.125, wanted neither"},
    {"AttentionGradSinks", &At::attentionGrad,
     [](I &i) { i.op.AsAttentionGrad()->forward->sinks = 7; },
     "'sinks' in a gradient, whose 'lse' has them"},
    {"AttentionGradDbias", &At::attentionGrad, [](I &i) { i.op.AsAttentionGrad()->dbias = 4; },
     "'dbias' is 'step' (buffer 4) of 4 bytes, wanted at least 32"},
    {"AttentionGradNoBias", &At::attentionGrad,
     [](I &i) { i.op.AsAttentionGrad()->forward->bias = ~0u; }, "'dbias' without a bias"},
    {"EmbeddingRows", &At::embedding, [](I &i) { i.op.AsEmbedding()->rows = 17; },
     "'table' is 'embed.weight' (buffer 0) of 512 bytes, wanted at least 544"},
    {"EmbeddingTokens", &At::embedding, [](I &i) { i.op.AsEmbedding()->tokens = 9; },
     "'ids' is 'tokens' (buffer 2) of 32 bytes, wanted at least 36"},
    {"EmbeddingIds", &At::embedding, [](I &i) { i.op.AsEmbedding()->ids = 7; },
     "'ids' is 'x' (buffer 7) of f32, wanted i32"},
    {"EmbeddingScalar", &At::embedding,
     [](I &i) { i.op.AsEmbedding()->first_row = scalar(INT64_MAX, 1, 0); },
     "'first_row' does not fit in 64 bits on some rank"},
    {"EmbeddingAxis", &At::embedding, [](I &i) { i.op.AsEmbedding()->first_row = scalar(0, 1, 1); },
     "'first_row' depends on mesh axis 1, the mesh has 1"},
    {"EmbeddingTerms", &At::embedding,
     [](I &i) {
       i.op.AsEmbedding()->first_row = test::rankScalar(INT64_MAX - 5, {{4, 0}, {4, 0}});
     },
     "'first_row' does not fit in 64 bits on some rank"},
    {"EmbeddingGradColumns", &At::embeddingGrad, [](I &i) { i.op.AsEmbeddingGrad()->columns = 16; },
     "'grad' is 'grad'"},
    {"EmbeddingGradPadding", &At::embeddingGrad, [](I &i) { i.op.AsEmbeddingGrad()->padding = -2; },
     "'padding' is -2, wanted -1 or an id"},
    {"EmbeddingGradPaddingId", &At::embeddingGrad,
     [](I &i) { i.op.AsEmbeddingGrad()->padding = int64_t(1) << 31; },
     "'padding' is 2147483648, wanted -1 or an id"},
    {"ConvolutionChannels", &At::conv2d, [](I &i) { i.op.AsConv2d()->shape->channels = 3; },
     "'x' is 'x' (buffer 7) of 256 bytes, wanted at least 384"},
    {"ConvolutionFilters", &At::conv2d, [](I &i) { i.op.AsConv2d()->shape->filters = 8; },
     "'weight' is 'swapped' (buffer 19) of 512 bytes, wanted at least 576"},
    {"ConvolutionPadding", &At::conv2d, [](I &i) { i.op.AsConv2d()->shape->padding_width = 2; },
     "'y' is 'grad' (buffer 13) of 512 bytes, wanted at least 768"},
    {"ConvolutionStride", &At::conv2d, [](I &i) { i.op.AsConv2d()->shape->stride_height = 0; },
     "'stride_height' is 0, wanted 1 to 2147483647"},
    {"ConvolutionGroups", &At::conv2d, [](I &i) { i.op.AsConv2d()->shape->groups = 3; },
     "'channels' is 2 and 'filters' 4, wanted multiples of groups, 3"},
    {"ConvolutionNoGroups", &At::conv2d, [](I &i) { i.op.AsConv2d()->shape->groups = 0; },
     "'groups' is 0, wanted 1 to 2147483647"},
    {"ConvolutionKernel", &At::conv2d, [](I &i) { i.op.AsConv2d()->shape->dilation_width = 3; },
     "a kernel of 3 with dilation 3 does not fit into a width of 4 with padding 1"},
    {"ConvolutionHugePadding", &At::conv2d,
     [](I &i) { i.op.AsConv2d()->shape->padding_height = ~uint64_t(0); },
     "the padding of its height is 18446744073709551615, wanted at most 2147483647"},
    {"ConvolutionOverflow", &At::conv2d,
     [](I &i) {
       Conv2dShapeT &shape = *i.op.AsConv2d()->shape;
       shape.batch = shape.channels = shape.height = shape.width = 1u << 30;
     },
     "more than fit in 64 bits"},
    {"ConvolutionInPlace", &At::conv2d, [](I &i) { i.op.AsConv2d()->y = i.op.AsConv2d()->weight; },
     "'weight' and 'y' share memory"},
    {"InputGradDx", &At::conv2dInputGrad, [](I &i) { i.op.AsConv2dInputGrad()->dx = 9; },
     "'dx' is 'lse' (buffer 9) of 64 bytes, wanted at least 256"},
    {"InputGradDy", &At::conv2dInputGrad, [](I &i) { i.op.AsConv2dInputGrad()->dy = 7; },
     "'dy' is 'x' (buffer 7) of 256 bytes, wanted at least 512"},
    {"WeightGradPieces", &At::conv2dWeightGrad, [](I &i) { i.op.AsConv2dWeightGrad()->pieces = 3; },
     "'scratch' is 'sums' (buffer 21) of 576 bytes, wanted at least 864"},
    {"WeightGradNoPieces", &At::conv2dWeightGrad,
     [](I &i) { i.op.AsConv2dWeightGrad()->pieces = 0; }, "'pieces' is 0"},
    {"WeightGradWeight", &At::conv2dWeightGrad,
     [](I &i) { i.op.AsConv2dWeightGrad()->dweight = 7; },
     "'dweight' is 'x' (buffer 7) of 256 bytes, wanted at least 288"},
    {"WeightGradScratch", &At::conv2dWeightGrad,
     [](I &i) { i.op.AsConv2dWeightGrad()->dweight = i.op.AsConv2dWeightGrad()->scratch; },
     "'scratch' and 'dweight' share memory"},
    {"GroupedRows", &At::groupedGemm, [](I &i) { i.op.AsGroupedGemm()->rows = 9; },
     "'a' is 'x' (buffer 7) of 256 bytes, wanted at least 288"},
    {"GroupedMatrices", &At::groupedGemm, [](I &i) { i.op.AsGroupedGemm()->groups = 3; },
     "'b' is 'swapped' (buffer 19) of 512 bytes, wanted at least 768"},
    {"GroupedCounts", &At::groupedGemm, [](I &i) { i.op.AsGroupedGemm()->samples = 5; },
     "'counts' is 'tokens' (buffer 2) of 32 bytes, wanted at least 40"},
    {"GroupedNoCounts", &At::groupedGemm, [](I &i) { i.op.AsGroupedGemm()->samples = 0; },
     "'samples' is 0"},
    {"GroupedCountsType", &At::groupedGemm, [](I &i) { i.op.AsGroupedGemm()->counts = 9; },
     "'counts' is 'lse' (buffer 9) of f32, wanted i32"},
    {"GroupedResult", &At::groupedGemm, [](I &i) { i.op.AsGroupedGemm()->c = 9; },
     "'c' is 'lse' (buffer 9) of 64 bytes, wanted at least 256"},
    {"GroupedResultType", &At::groupedGemm,
     [](I &i) { i.op.AsGroupedGemm()->result_dtype = DType::bf16; },
     "'result_dtype' is 1, wanted f32 or 'dtype'"},
    {"GroupedInPlace", &At::groupedGemm,
     [](I &i) { i.op.AsGroupedGemm()->c = i.op.AsGroupedGemm()->a; }, "'a' and 'c' share memory"},
    {"GroupedAccumulate", &At::groupedGemm,
     [](I &i) { i.op.AsGroupedGemm()->accumulate = true; },
     "'accumulate' without 'sums_rows', of f32, wanted sums of rows in f32"},
    {"GroupedSumsTransposed", &At::groupedSums,
     [](I &i) { i.op.AsGroupedGemm()->trans_b = true; }, "'trans_b' with 'sums_rows'"},
    {"GroupedSumsResult", &At::groupedSums, [](I &i) { i.op.AsGroupedGemm()->c = 9; },
     "'c' is 'lse' (buffer 9) of 64 bytes, wanted at least 512"},
    {"GroupedSumsB", &At::groupedSums, [](I &i) { i.op.AsGroupedGemm()->b = 9; },
     "'b' is 'lse' (buffer 9) of 64 bytes, wanted at least 256"},
    {"PoolKernel", &At::pool2d, [](I &i) { i.op.AsPool2d()->shape->kernel_height = 5; },
     "a kernel of 5 with dilation 1 does not fit into a height of 4 with padding 0"},
    {"PoolPadding", &At::pool2d, [](I &i) { i.op.AsPool2d()->shape->padding_width = 2; },
     "the padding is 0 and 2, wanted at most half of the kernel, 2 and 2"},
    {"PoolResult", &At::pool2d, [](I &i) { i.op.AsPool2d()->shape->stride_width = 1; },
     "'y' is 'scratch' (buffer 17) of 64 bytes, wanted at least 96"},
    {"PoolGradImage", &At::pool2dGrad, [](I &i) { i.op.AsPool2dGrad()->x = ~0u; },
     "'x' is buffer 4294967295"},
    {"PoolGradChannels", &At::pool2dGrad, [](I &i) { i.op.AsPool2dGrad()->shape->channels = 3; },
     "'x' is 'x' (buffer 7) of 256 bytes, wanted at least 384"},
    {"PoolGradDx", &At::pool2dGrad, [](I &i) { i.op.AsPool2dGrad()->dx = i.op.AsPool2dGrad()->x; },
     "'x' and 'dx' share memory"},
    {"CopyDims", &At::copy, [](I &i) { i.op.AsStridedCopy()->sizes.assign(13, 1); },
     "it has 13 dims, wanted at most 12"},
    {"CopyStrides", &At::copy, [](I &i) { i.op.AsStridedCopy()->src_strides.pop_back(); },
     "'src' has 1 strides for 2 sizes"},
    {"CopySize", &At::copy, [](I &i) { i.op.AsStridedCopy()->sizes[0] = 0; }, "'sizes' is 0"},
    {"CopyBeyond", &At::copy, [](I &i) { i.op.AsStridedCopy()->sizes[0] = 9; },
     "'src' is elements 0 to 64 of 'head' (buffer 10), which has 64"},
    {"CopyBefore", &At::copy, [](I &i) { i.op.AsStridedCopy()->src_strides[0] = -1; },
     "'src' is elements -7 to 56"},
    {"CopyOverflow", &At::copy, [](I &i) { i.op.AsStridedCopy()->src_strides[0] = INT64_MAX / 2; },
     "the box of 'src' does not fit in 64 bits"},
    {"CopyOnSomeRank", &At::copy, [](I &i) { i.op.AsStridedCopy()->src_offset = scalar(0, 1, 0); },
     "'src' is elements 0 to 64 of"},
    {"CopyOfTwoTerms", &At::copy,
     [](I &i) { i.op.AsStridedCopy()->src_offset = test::rankScalar(0, {{-1, 0}, {2, 0}}); },
     "'src' is elements -1 to 65 of"},
    {"CopyTwice", &At::copy, [](I &i) { i.op.AsStridedCopy()->dst_strides = {1, 1}; },
     "write some element of 'dst' more than once"},
    {"CopyBroadcast", &At::copy, [](I &i) { i.op.AsStridedCopy()->dst_strides = {0, 1}; },
     "write some element of 'dst' more than once"},
    {"CopyItself", &At::copy, [](I &i) { i.op.AsStridedCopy()->dst = i.op.AsStridedCopy()->src; },
     "'src' and 'dst' share memory"},
    {"CopyType", &At::copy, [](I &i) { i.op.AsStridedCopy()->dtype = DType::i32; },
     "of f32, wanted i32"},
    {"CopyTypeUnknown", &At::copy,
     [](I &i) { i.op.AsStridedCopy()->dtype = static_cast<DType>(6); }, "'dtype' is 6"},
    {"CollectiveGroup", &At::allReduce, [](I &i) { i.op.AsCollective()->group = 1; },
     "the group is 1, there are 1"},
    {"Runs", &At::gemm, [](I &i) { i.runs = static_cast<Runs>(2); },
     "it runs in 2, wanted at most 1"},
    {"CollectiveCount", &At::allReduce, [](I &i) { i.op.AsCollective()->count = 2; }, "'loss'"},
    {"CollectiveKind", &At::allReduce,
     [](I &i) { i.op.AsCollective()->kind = static_cast<CollectiveKind>(4); }, "kind is 4"},
    {"CollectiveRole", &At::allReduce,
     [](I &i) { i.op.AsCollective()->role = static_cast<CollectiveRole>(6); }, "role 6"},
    {"CollectiveGather", &At::allReduce,
     [](I &i) { i.op.AsCollective()->kind = CollectiveKind::all_gather; },
     "'dst' is 'loss' (buffer 12) of 4 bytes, wanted at least 8"},
    {"RecordEvent", &At::record, [](I &i) { i.op.AsRecord()->event = 2; },
     "the event is 2, there are 2"},
    {"WaitEvent", &At::wait, [](I &i) { i.op.AsWait()->event = 9; }, "the event is 9, there are 2"},
    {"WaitBeforeRecord", &At::wait, [](I &i) { i.op.AsWait()->event = 1; },
     "no record of event 1 comes before this wait in entry 'train', which would never end"},
};

INSTANTIATE_TEST_SUITE_P(Verify, InstructionCorruption, testing::ValuesIn(corruptions),
                         [](const auto &info) { return std::string(info.param.name); });

// The object API cannot write it, so the byte is changed in place. FlatBuffers' own verifier
// accepts it.
TEST(VerifyInstructions, RejectsAnOpOfUnknownType) {
  test::ProgramBuilder builder({});
  builder.add(test::zero(builder.buffer("x", 1)));
  builder.file();
  flatbuffers::FlatBufferBuilder encoder;
  FinishManifestBuffer(encoder, CreateManifest(encoder, &builder.manifest));
  const Manifest &manifest = *GetManifest(encoder.GetBufferPointer());
  const Instruction *instruction =
      manifest.programs()->Get(0)->tasks()->Get(0)->instructions()->Get(0);
  auto type = const_cast<uint8_t *>(reinterpret_cast<const flatbuffers::Table *>(instruction)
                                        ->GetAddressOf(Instruction::VT_OP_TYPE));
  for (uint8_t value : {0, 19, 255}) {
    *type = value;
    flatbuffers::Verifier encoding(encoder.GetBufferPointer(), encoder.GetSize());
    EXPECT_TRUE(VerifyManifestBuffer(encoding));
    rt::Status status = verifyManifest(manifest, "m.dte");
    EXPECT_NE(status.message().find("wanted 1 to 18"), std::string::npos) << status.message();
  }
}

// Moves the start of a vector by 4 bytes, so that its 8-byte elements are misaligned.
TEST(VerifyInstructions, RejectsVectorsThatAreNotAligned) {
  test::ProgramBuilder builder({});
  uint32_t a = builder.buffer("a", 4), b = builder.buffer("b", 4);
  builder.add(test::copy(a, b, 4));
  builder.file();
  flatbuffers::FlatBufferBuilder encoder;
  FinishManifestBuffer(encoder, CreateManifest(encoder, &builder.manifest));
  const Manifest &manifest = *GetManifest(encoder.GetBufferPointer());
  ASSERT_TRUE(verifyManifest(manifest, "m.dte").ok());
  const auto *copy =
      manifest.programs()->Get(0)->tasks()->Get(0)->instructions()->Get(0)->op_as_StridedCopy();
  auto position = const_cast<uint8_t *>(
      reinterpret_cast<const flatbuffers::Table *>(copy)->GetAddressOf(StridedCopy::VT_SIZES));
  flatbuffers::WriteScalar(position, flatbuffers::ReadScalar<flatbuffers::uoffset_t>(position) + 4);
  rt::Status status = verifyManifest(manifest, "m.dte");
  EXPECT_NE(status.message().find("its sizes or strides are not aligned to 8 bytes"),
            std::string::npos)
      << status.message();
}

// Instructions of one run move together, so operands that are apart in the first are apart in all.
TEST(VerifyInstructions, FollowsBuffersThatMove) {
  auto message = [](uint64_t srcStride, uint64_t dstStride) {
    test::ProgramBuilder builder({});
    builder.manifest.num_micro_batches = 3;
    uint32_t all = builder.buffer("all", 64), src = builder.buffer("src", 4),
             dst = builder.buffer("dst", 4);
    (void)all;
    auto &buffers = builder.program().buffers;
    buffers[src]->offset = 0;
    buffers[dst]->offset = 16;
    buffers[src]->micro_batch_stride = srcStride;
    buffers[dst]->micro_batch_stride = dstStride;
    builder.add(test::copy(src, dst, 4));
    builder.file();
    return verify(builder.manifest).message();
  };
  EXPECT_EQ(message(0, 0), "");
  EXPECT_EQ(message(32, 32), "");
  EXPECT_NE(message(16, 0).find("share memory"), std::string::npos);
  EXPECT_EQ(message(0, 16), "");
  EXPECT_NE(message(0, 1024).find("beyond the arena's end"), std::string::npos);
}

TEST(VerifyInstructions, ChecksScalarsInEveryMicroBatch) {
  auto message = [](int64_t stride) {
    test::ProgramBuilder builder({});
    builder.manifest.num_micro_batches = 3;
    uint32_t a = builder.buffer("a", 8), b = builder.buffer("b", 4);
    StridedCopyT op = test::copy(a, b, 4);
    op.src_offset = test::rankScalar(0);
    op.src_offset->micro_batch_stride = stride;
    builder.add(std::move(op));
    builder.file();
    return verify(builder.manifest).message();
  };
  EXPECT_EQ(message(2), "");
  EXPECT_NE(message(3).find("'src' is elements 0 to 9"), std::string::npos);
  EXPECT_NE(message(-1).find("'src' is elements -2 to 3"), std::string::npos);
}

// Three layers of a copy, whose source and destination are at 0 and 64 of 256 bytes and move by
// these strides.
std::string messageOfLayers(int64_t srcStride, int64_t dstStride, uint32_t layers = 3) {
  test::ProgramBuilder builder({});
  uint32_t all = builder.buffer("all", 64), src = builder.buffer("src", 4),
           dst = builder.buffer("dst", 4);
  (void)all;
  auto &buffers = builder.program().buffers;
  buffers[src]->offset = 0;
  buffers[dst]->offset = 64;
  buffers[src]->layer_stride = srcStride;
  buffers[dst]->layer_stride = dstStride;
  builder.program().arena_bytes = 256;
  builder.add(test::copy(src, dst, 4));
  builder.program().tasks[0]->repeats = {Repeat(0, 1, layers)};
  builder.file();
  return verify(builder.manifest).message();
}

// Returns the error for an instruction with a buffer in the device's memory and two in the host's,
// at the same places.
static std::string messageOfMemories(
    const std::function<void(test::ProgramBuilder &, uint32_t, uint32_t, uint32_t)> &add) {
  test::ProgramBuilder builder({});
  uint32_t here = builder.buffer("here", 4), there = builder.buffer("there", 4),
           other = builder.buffer("other", 4);
  auto &buffers = builder.program().buffers;
  for (uint32_t buffer : {there, other})
    buffers[buffer]->space = MemorySpace::host;
  buffers[there]->offset = 0;
  buffers[other]->offset = 64;
  builder.program().host_bytes = 80;
  add(builder, here, there, other);
  builder.file();
  return verify(builder.manifest).message();
}

TEST(VerifyInstructions, CopiesFromOneMemoryToTheOther) {
  EXPECT_EQ(messageOfMemories([](auto &builder, uint32_t here, uint32_t there, uint32_t other) {
              builder.add(test::zero(there));
              builder.add(test::copy(there, here, 4)); // equal places in different memories
              builder.add(test::copy(there, other, 4));
            }),
            "");
  EXPECT_NE(
      messageOfMemories([](auto &builder, uint32_t here, uint32_t there, uint32_t) {
        StridedCopyT op = test::copy(there, here, 4);
        op.accumulate = true;
        builder.add(std::move(op));
      })
          .find("'src' is 'there' (buffer 1) and 'dst' is 'here' (buffer 0) of another memory, "
                "wanted both in one"),
      std::string::npos);
  EXPECT_NE(messageOfMemories([](auto &builder, uint32_t, uint32_t there, uint32_t other) {
              builder.program().buffers[other]->offset = 8;
              builder.add(test::copy(there, other, 4));
            }).find("share memory: bytes 0 to 16 and 8 to 24"),
            std::string::npos);
  EXPECT_NE(messageOfMemories([](auto &builder, uint32_t, uint32_t, uint32_t other) {
              builder.program().buffers[other]->offset = 68;
              builder.add(test::zero(other));
            }).find("of the host's memory, beyond the arena's end at 80"),
            std::string::npos);
}

TEST(VerifyInstructions, HasTheDeviceDoWhatLibrariesDo) {
  EXPECT_NE(messageOfMemories([](auto &builder, uint32_t here, uint32_t there, uint32_t) {
              GemmT op;
              op.a = op.b = here;
              op.c = there;
              op.m = op.n = op.k = op.lda = op.ldb = op.ldc = 1;
              builder.add(op);
            }).find("'c' is 'there' (buffer 1) of the host's memory, wanted one of the device's"),
            std::string::npos);
}

TEST(VerifyInstructions, LaunchesInOneMemory) {
  SampleIndices at;
  test::ProgramBuilder builder = test::sampleProgram(2, {1, 2, 3}, &at);
  uint32_t there = builder.buffer("there", 64);
  builder.program().buffers[there]->space = MemorySpace::host;
  builder.program().buffers[there]->offset = 0;
  builder.program().host_bytes = 256;
  builder.instructions()[at.launch]->op.AsLaunch()->buffers[0] = there;
  builder.file();
  std::string message = verify(builder.manifest).message();
  EXPECT_NE(message.find("of another memory, wanted both in one"), std::string::npos) << message;
}

TEST(VerifyInstructions, ChecksAddressesInEveryLayer) {
  EXPECT_EQ(messageOfLayers(0, 0), "");
  EXPECT_EQ(messageOfLayers(16, 88), ""); // the last layer ends with the arena
  EXPECT_NE(messageOfLayers(0, 92).find("'dst' is 'dst' (buffer 2), which moves on by 92 bytes in "
                                        "each of 3 layers, out of the arena of 256"),
            std::string::npos);
  EXPECT_EQ(messageOfLayers(96, -16), "");
  EXPECT_NE(messageOfLayers(-4, 0).find("out of the arena"), std::string::npos);
  EXPECT_EQ(messageOfLayers(-4, 0, 1), ""); // one layer does not move
  int64_t huge = std::numeric_limits<int64_t>::max() / 4 * 4;
  for (int64_t stride : {huge, -huge})
    EXPECT_NE(messageOfLayers(0, stride).find("out of the arena"), std::string::npos);
}

// Operands that are apart in the first layer may meet in a later one, unless they move alike.
TEST(VerifyInstructions, KeepsOperandsApartInEveryLayer) {
  EXPECT_EQ(messageOfLayers(64, 64), "");
  EXPECT_NE(messageOfLayers(32, 0).find("share memory"), std::string::npos); // in layer 2
  EXPECT_EQ(messageOfLayers(32, 0, 2), "");
  EXPECT_NE(messageOfLayers(0, -32).find("share memory"), std::string::npos);
}

TEST(VerifyInstructions, ChecksScalarsInEveryLayer) {
  auto message = [](int64_t stride, uint32_t layers) {
    test::ProgramBuilder builder({});
    uint32_t a = builder.buffer("a", 8), b = builder.buffer("b", 4);
    StridedCopyT op = test::copy(a, b, 4);
    op.src_offset = test::rankScalar(0);
    op.src_offset->layer_stride = stride;
    builder.add(std::move(op));
    builder.program().tasks[0]->repeats = {Repeat(0, 1, layers)};
    builder.file();
    return verify(builder.manifest).message();
  };
  EXPECT_EQ(message(2, 3), "");
  EXPECT_NE(message(2, 4).find("'src' is elements 0 to 9"), std::string::npos);
  EXPECT_NE(message(-1, 3).find("'src' is elements -2 to 3"), std::string::npos);
  EXPECT_NE(
      message(std::numeric_limits<int64_t>::max(), 3).find("does not fit in 64 bits in some layer"),
      std::string::npos);
}

// A small file must not demand endless work.
TEST(VerifyProgram, BoundsWhatRepeatsRun) {
  auto message = [](uint32_t tasks, uint32_t instructions) {
    test::ProgramBuilder builder({});
    builder.manifest.num_micro_batches = 300;
    uint32_t x = builder.buffer("x", 4);
    for (uint32_t i = 0; i < instructions; ++i)
      builder.add(test::zero(x));
    builder.program().tasks[0]->repeats = {Repeat(0, instructions, 1 << 16)};
    builder.program().entries[0]->order.clear();
    for (uint32_t m = 0; m < tasks; ++m)
      builder.program().entries[0]->order.emplace_back(0, m);
    builder.file();
    return verify(builder.manifest).message();
  };
  EXPECT_EQ(message(1, 64), "");
  EXPECT_NE(message(1, 65).find("runs more than 4194304 instructions at once"), std::string::npos);
  EXPECT_EQ(message(16, 64), "");
  EXPECT_NE(message(17, 64).find("entry 'train' runs more than 67108864 instructions"),
            std::string::npos);
}

// Filters of a group have only the channels of the group: 4 x 1 x 5 x 5 weights, where all channels
// would make 200, more than the buffer holds.
TEST(VerifyInstructions, AcceptsAConvolutionInGroups) {
  SampleIndices at;
  test::ProgramBuilder builder = test::sampleProgram(2, {1, 2, 3}, &at);
  Conv2dShapeT &shape = *builder.instructions()[at.conv2d]->op.AsConv2d()->shape;
  shape.groups = 2;
  shape.kernel_height = shape.kernel_width = 5;
  shape.padding_height = shape.padding_width = 2;
  builder.file();
  rt::Status status = verify(builder.manifest);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(VerifyInstructions, AcceptsABatchOfProductsSideBySide) {
  test::ProgramBuilder builder({});
  uint32_t a = builder.buffer("a", 64), b = builder.buffer("b", 64), c = builder.buffer("c", 64);
  GemmT op;
  op.a = a;
  op.b = b;
  op.c = c;
  op.m = op.n = op.k = 4;
  op.lda = op.ldb = op.ldc = 8;
  op.batch = 2;
  op.stride_a = op.stride_b = op.stride_c = 4;
  builder.add(op);
  builder.file();
  rt::Status status = verify(builder.manifest);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(VerifyInstructions, AcceptsAReversedCopy) {
  test::ProgramBuilder builder({});
  uint32_t a = builder.buffer("a", 4), b = builder.buffer("b", 4);
  StridedCopyT op = test::copy(a, b, 4);
  op.src_strides = {-1};
  op.src_offset = test::rankScalar(3);
  builder.add(std::move(op));
  builder.file();
  rt::Status status = verify(builder.manifest);
  EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace
} // namespace dtc::format

// Compares attention's CUDA kernels on the emulator with those of CPUs.
#include "kernels/cpu/ThreadPool.h"
#include "kernels/cuda/Attention.h"
#include "test/unit/cuda/CudaTestSupport.h"

namespace dtc::cuda {
namespace {

struct Case {
  ElementType type = ElementType::F32;
  int queries = 33, keys = 33, heads = 2, kvHeads = 2, headDim = 64;
  bool causal = true;
  float dropout = 0;
  int gap = 0; // elements between a token's heads and the next token, which must not be accessed
  int window = 0;
  int batch = 2;
  float softCap = 0;
  int valueDim = 0, prefix = 0;
  bool hasLengths = false;
  std::array<int, 4> bias = {}; // zeros: none
  bool hasSlopes = false;
  int document = 0; // tokens of every second document, between which are those of one; 0: none
  bool hasSinks = false;
  std::vector<int32_t> starts = {}; // of queries and keys; empty: the last query is at the last key

  int valueColumns() const { return valueDim > 0 ? valueDim : headDim; }
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << nameOf(c.type) << " " << c.queries << "x" << c.keys << " heads " << c.heads << "/"
             << c.kvHeads << "x" << c.headDim << (c.causal ? " causal" : "") << " dropout "
             << c.dropout << " gap " << c.gap << " window " << c.window << " soft cap " << c.softCap
             << " value dim " << c.valueDim << " prefix " << c.prefix
             << (c.hasLengths ? " lengths" : "") << (c.hasSinks ? " sinks" : "") << " bias "
             << c.bias[0] << "x" << c.bias[1] << "x" << c.bias[2] << "x" << c.bias[3]
             << (c.hasSlopes ? " slopes" : "") << " document " << c.document << " starts "
             << testing::PrintToString(c.starts);
}

constexpr int64_t kSeed = 0x123456789abcdef, kStep = 7;
constexpr uint32_t kDropoutId = 5;
constexpr int64_t kFirstBatch = 3, kFirstHead = 4, kTotalHeads = 16;

// A tensor [batch, tokens, heads, headDim]: dense here, and with gaps between tokens on the GPU.
struct Tensor {
  ElementType type;
  int64_t rows, columns, stride; // number of elements
  int headDim;
  std::vector<uint8_t> dense;
  uint8_t *device = nullptr;

  Tensor(const Case &c, int tokens, int heads, int headDim)
      : type(c.type), rows(int64_t(c.batch) * tokens), columns(int64_t(heads) * headDim),
        stride(columns + c.gap), headDim(headDim),
        dense(static_cast<size_t>(rows * columns * bytesOf(c.type))) {}

  size_t rowBytes() const { return static_cast<size_t>(columns * bytesOf(type)); }
  uint8_t *row(int64_t index) const { return device + index * stride * bytesOf(type); }
  int64_t size() const { return rows * columns; }

  void allocate(EmulatedGpu &gpu) {
    device = gpu.allocate<uint8_t>(static_cast<size_t>(rows * stride * bytesOf(type)));
  }
  void upload(EmulatedGpu &gpu) {
    allocate(gpu);
    write(gpu);
  }
  void write(EmulatedGpu &gpu) {
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(row(i), &dense[static_cast<size_t>(i) * rowBytes()], rowBytes());
      gpu.markWritten(row(i), rowBytes());
    }
  }
  // Also checks that gaps still hold 0xff.
  std::vector<float> download() const {
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < rows; ++i) {
      bytes.insert(bytes.end(), row(i), row(i) + rowBytes());
      for (const uint8_t *at = row(i) + rowBytes(); at < row(i) + stride * bytesOf(type); ++at)
        EXPECT_EQ(*at, 0xff) << "gap after token " << i;
    }
    return toFloats(type, bytes);
  }
  HeadStrides strides(int tokens) const { return {tokens * stride, stride, headDim}; }
};

struct Results {
  std::vector<float> out, lse, dq = {}, dk = {}, dv = {}, dbias = {};
};

class Attention {
public:
  explicit Attention(const Case &c, bool hasGradientOfLse = false)
      : c(c), q(c, c.queries, c.heads, c.headDim), k(c, c.keys, c.kvHeads, c.headDim),
        v(c, c.keys, c.kvHeads, c.valueColumns()), out(c, c.queries, c.heads, c.valueColumns()),
        dout(out), dq(q), dk(k), dv(v) {
    Numbers numbers(17);
    for (Tensor *tensor : {&q, &k, &v, &dout})
      tensor->dense = numbers.normalBytes(c.type, tensor->size());
    if (hasGradientOfLse)
      for (int row = 0; row < c.batch * c.heads * c.queries; ++row)
        dlse.push_back(static_cast<float>(row % 7 - 3) / 4);
    if (c.hasLengths)
      for (int sample = 0; sample < c.batch; ++sample) // one with all keys, one with some
        lengths.push_back(c.keys - sample * (c.keys / 2 + 1));
    for (int i = 0; i < c.bias[0] * c.bias[1] * c.bias[2] * c.bias[3]; ++i)
      bias.push_back(i % 11 == 7 ? -1e30f : static_cast<float>(i * 37 % 64 - 32) / 16);
    if (c.hasSlopes)
      for (int head = 0; head < c.heads; ++head)
        slopes.push_back(std::exp2(-static_cast<float>(head + 2)));
    if (c.hasSinks) // from one that hardly matters to one that takes most of the weight
      for (int head = 0; head < c.heads; ++head)
        sinks.push_back(static_cast<float>(head * 5 % 16) - 6);
    for (int i = 0; c.document > 0 && i < c.batch * c.keys; ++i) {
      int key = i % c.keys + i / c.keys * 3; // samples begin at other places of their documents
      documents.push_back(key / (c.document + 1) * 2 + (key % (c.document + 1) == c.document));
    }
  }

  Tensor &values() { return v; }

  Results onCpu() {
    cpu::ThreadPool pool(1);
    size_t rows = static_cast<size_t>(c.batch) * static_cast<size_t>(c.heads * c.queries);
    std::vector<float> lse(rows), scratch(rows);
    auto floats = [](Tensor &tensor) { return reinterpret_cast<float *>(tensor.dense.data()); };
    cpu::AttentionArgs args{.q = floats(q),
                            .k = floats(k),
                            .v = floats(v),
                            .out = floats(out),
                            .lse = lse.data(),
                            .batch = c.batch,
                            .queries = c.queries,
                            .keys = c.keys,
                            .heads = c.heads,
                            .kvHeads = c.kvHeads,
                            .headDim = c.headDim,
                            .causal = c.causal,
                            .scale = scale()};
    args.window = c.window, args.softCap = c.softCap;
    args.valueDim = c.valueDim, args.prefix = c.prefix;
    args.lengths = c.hasLengths ? lengths.data() : nullptr;
    args.slopes = c.hasSlopes ? slopes.data() : nullptr;
    args.documents = c.document > 0 ? documents.data() : nullptr;
    args.sinks = c.hasSinks ? sinks.data() : nullptr;
    args.starts = c.starts.empty() ? nullptr : c.starts.data();
    std::vector<float> dbias(bias.size());
    if (!bias.empty()) {
      args.bias = bias.data();
      std::copy(c.bias.begin(), c.bias.end(), args.biasSizes);
    }
    args.dropout = c.dropout;
    args.seed = static_cast<uint64_t>(kSeed), args.dropoutId = kDropoutId, args.step = kStep;
    args.globalBatch0 = kFirstBatch, args.globalHead0 = kFirstHead, args.totalHeads = kTotalHeads;
    if (c.type == ElementType::F32) {
      cpu::attention(args, pool);
      cpu::AttentionGradArgs grad{args,
                                  floats(dout),
                                  floats(dq),
                                  floats(dk),
                                  floats(dv),
                                  scratch.data(),
                                  dlse.empty() ? nullptr : dlse.data()};
      grad.dbias = bias.empty() ? nullptr : dbias.data();
      cpu::attentionGrad(grad, pool);
    } else {
      cpu::NarrowTensors tensors{c.type,          q.dense.data(),   k.dense.data(),
                                 v.dense.data(),  out.dense.data(), dout.dense.data(),
                                 dq.dense.data(), dk.dense.data(),  dv.dense.data()};
      tensors.dlse = dlse.empty() ? nullptr : dlse.data();
      tensors.dbias = bias.empty() ? nullptr : dbias.data();
      cpu::narrowAttention(args, tensors, pool);
      cpu::narrowAttentionGrad(args, tensors, scratch.data(), pool);
    }
    return {toFloats(c.type, out.dense), lse,
            toFloats(c.type, dq.dense),  toFloats(c.type, dk.dense),
            toFloats(c.type, dv.dense),  dbias};
  }

  // If `forward` is given, a result of onCpu(), gradients are computed from its results. Otherwise
  // one element of `out` that is rounded differently would affect all gradients of its row.
  Results onGpu(float step = kStep, uint64_t seed = 0, const Results *forward = nullptr) {
    EmulatedGpu gpu;
    for (Tensor *tensor : {&q, &k, &v, &dout})
      tensor->upload(gpu);
    for (Tensor *tensor : {&out, &dq, &dk, &dv})
      tensor->allocate(gpu);
    size_t rows = static_cast<size_t>(c.batch) * static_cast<size_t>(c.heads * c.queries);
    AttentionParams p = params();
    p.lse = gpu.allocate<float>(rows), p.delta = gpu.allocate<float>(rows);
    if (!dlse.empty())
      p.dlse = gpu.upload(dlse);
    if (c.dropout > 0) {
      p.seed = gpu.upload(std::vector<int64_t>{kSeed});
      p.step = gpu.upload(std::vector<float>{step});
    }
    if (c.hasLengths)
      p.lengths = gpu.upload(lengths);
    if (!bias.empty())
      p.bias = gpu.upload(bias), p.dbias = gpu.allocate<float>(bias.size());
    if (c.hasSlopes)
      p.slopes = gpu.upload(slopes);
    if (c.document > 0)
      p.documents = gpu.upload(documents);
    if (c.hasSinks)
      p.sinks = gpu.upload(sinks);
    if (!c.starts.empty())
      p.starts = gpu.upload(c.starts);
    std::vector<Launch> launches;
    EXPECT_EQ(planAttention(c.type, p, launches), "");
    gpu.launch(launches, &p, seed);
    Results found{.out = out.download(), .lse = std::vector<float>(p.lse, p.lse + rows)};
    if (forward) {
      out.write(gpu);
      std::copy(forward->lse.begin(), forward->lse.end(), p.lse);
    }
    EXPECT_EQ(planAttentionGrad(c.type, p, launches), "");
    gpu.launch(launches, &p, seed);
    found.dq = dq.download(), found.dk = dk.download(), found.dv = dv.download();
    found.dbias.assign(p.dbias, p.dbias + bias.size());
    return found;
  }

private:
  float scale() const { return 1 / std::sqrt(static_cast<float>(c.headDim)); }

  AttentionParams params() const {
    AttentionParams p{};
    p.q = q.device, p.k = k.device, p.v = v.device, p.out = out.device;
    p.dout = dout.device, p.dq = dq.device, p.dk = dk.device, p.dv = dv.device;
    p.qStrides = p.dqStrides = q.strides(c.queries);
    p.outStrides = p.doutStrides = out.strides(c.queries);
    p.kStrides = p.dkStrides = k.strides(c.keys);
    p.vStrides = p.dvStrides = v.strides(c.keys);
    p.valueDim = c.valueDim, p.prefix = c.prefix;
    p.hasLengths = c.hasLengths, p.hasSlopes = c.hasSlopes, p.hasDocuments = c.document > 0;
    p.hasSinks = c.hasSinks, p.hasStarts = !c.starts.empty();
    std::copy(c.bias.begin(), c.bias.end(), p.biasSizes);
    p.hasBiasGradient = !bias.empty();
    p.batch = c.batch, p.queries = c.queries, p.keys = c.keys;
    p.heads = c.heads, p.kvHeads = c.kvHeads, p.headDim = c.headDim;
    p.causal = c.causal, p.window = c.window, p.scale = scale();
    p.softCap = c.softCap;
    setDropout(p, c.dropout);
    p.dropoutId = kDropoutId;
    p.firstBatch = kFirstBatch, p.firstHead = kFirstHead, p.totalHeads = kTotalHeads;
    return p;
  }

  Case c;
  Tensor q, k, v, out, dout, dq, dk, dv;
  std::vector<float> dlse; // empty: lse has no gradient
  std::vector<int32_t> lengths, documents;
  std::vector<float> bias, slopes, sinks;
};

// f32 sums in another order and has an exp2 of 2 ulp; in 16 bits, weights are rounded before the
// products.
void expectSame(const Results &found, const Results &expected, ElementType type) {
  double tolerance = type == ElementType::F32 ? 1e-5 : 1e-2;
  EXPECT_LE(relativeError(found.out, expected.out), tolerance);
  EXPECT_LE(relativeError(found.lse, expected.lse), 1e-5);
  // These are, with one key, differences of equal numbers. Half is the size that several keys give
  // them.
  EXPECT_LE(relativeError(found.dq, expected.dq, 0.5), tolerance);
  EXPECT_LE(relativeError(found.dk, expected.dk, 0.5), tolerance);
  EXPECT_LE(relativeError(found.dv, expected.dv), tolerance);
  EXPECT_LE(relativeError(found.dbias, expected.dbias, 0.5), tolerance);
}

class AttentionKernel : public testing::TestWithParam<Case> {};

TEST_P(AttentionKernel, ComputesWhatTheCpuDoes) {
  const Case &c = GetParam();
  Attention attention(c, /*hasGradientOfLse=*/c.window > 0 || c.softCap > 0);
  Results expected = attention.onCpu();
  expectSame(attention.onGpu(kStep, 0, &expected), expected, GetParam().type);
}

constexpr ElementType F32 = ElementType::F32, BF16 = ElementType::BF16, F16 = ElementType::F16;

INSTANTIATE_TEST_SUITE_P(F32, AttentionKernel,
                         testing::Values(Case{F32, 1, 1}, Case{F32, 31, 33}, Case{F32, 32, 32},
                                         // the first queries see no key
                                         Case{F32, 33, 31, 4, 2, 20},
                                         Case{F32, 65, 65, 4, 1, 64, true, 0.3f, 5},
                                         Case{F32, 65, 1, 2, 2, 32, false},
                                         Case{F32, 33, 65, 2, 1, 128, true, 0.1f},
                                         Case{F32, 33, 70, 1, 1, 250, false, 0, 0, 0, 1},
                                         Case{F32, 70, 33, 2, 2, 4, false, 0.5f}));
INSTANTIATE_TEST_SUITE_P(Bf16, AttentionKernel,
                         testing::Values(Case{BF16, 1, 1}, Case{BF16, 31, 33}, Case{BF16, 32, 32},
                                         Case{BF16, 33, 31, 4, 2, 64},
                                         Case{BF16, 65, 65, 4, 1, 64, true, 0.3f, 8},
                                         Case{BF16, 130, 65, 2, 2, 64, false},
                                         Case{BF16, 65, 130, 2, 1, 64, true, 0, 64},
                                         Case{BF16, 33, 33, 2, 1, 24, true, 0.2f},
                                         Case{BF16, 65, 65, 1, 1, 80},
                                         Case{BF16, 65, 97, 2, 1, 128, true, 0.1f},
                                         Case{BF16, 33, 65, 1, 1, 192, false, 0, 0, 0, 1},
                                         Case{BF16, 65, 33, 1, 1, 256, true, 0.1f, 0, 0, 1},
                                         // Some blocks of rows meet no column.
                                         Case{BF16, 300, 64, 2, 1, 64},
                                         // More than a block of rows and columns, grouped.
                                         Case{BF16, 140, 140, 2, 1, 64, true, 0, 0, 0, 1},
                                         Case{BF16, 33, 65, 2, 1, 20, true, 0.1f, 3}));
INSTANTIATE_TEST_SUITE_P(F16, AttentionKernel,
                         testing::Values(Case{F16, 31, 33}, Case{F16, 65, 65, 4, 2, 64, true, 0.3f},
                                         Case{F16, 65, 65, 1, 1, 128, false},
                                         Case{F16, 33, 33, 1, 1, 30, true}));

// Samples with fewer keys, some without those of a block; prefixes that end within blocks; values
// of another head dim; biases of every broadcast; slopes;
// documents.
INSTANTIATE_TEST_SUITE_P(
    Scores, AttentionKernel,
    testing::Values(
        Case{.queries = 130, .keys = 130, .causal = true, .hasLengths = true},
        Case{.queries = 40, .keys = 70, .kvHeads = 1, .causal = false, .hasLengths = true},
        Case{.queries = 70, .keys = 70, .causal = true, .window = 20, .hasLengths = true},
        Case{.queries = 150, .keys = 150, .causal = false, .window = 20, .hasLengths = true},
        Case{.queries = 140, .keys = 140, .headDim = 20, .causal = true, .batch = 1, .prefix = 77},
        Case{.queries = 33, .keys = 40, .headDim = 48, .causal = true, .valueDim = 32},
        Case{.queries = 33, .keys = 33, .headDim = 24, .causal = true, .gap = 3, .valueDim = 72},
        Case{.queries = 70, .keys = 65, .headDim = 32, .causal = false, .bias = {2, 2, 70, 65}},
        Case{.queries = 70,
             .keys = 65,
             .heads = 4,
             .headDim = 32,
             .causal = false,
             .softCap = 2.0f,
             .bias = {1, 4, 70, 65}},
        Case{.queries = 70, .keys = 65, .headDim = 32, .causal = false, .bias = {2, 1, 1, 65}},
        Case{.queries = 70,
             .keys = 65,
             .headDim = 32,
             .causal = false,
             .dropout = 0.2f,
             .bias = {1, 1, 70, 1}},
        Case{.queries = 33, .keys = 65, .headDim = 32, .causal = true, .bias = {1, 1, 1, 1}},
        Case{.queries = 33, .keys = 33, .headDim = 32, .causal = true, .document = 1},
        Case{.queries = 150, .keys = 170, .headDim = 32, .causal = true, .document = 40},
        Case{.queries = 150, .keys = 150, .headDim = 32, .causal = false, .document = 70},
        Case{.type = BF16,
             .queries = 140,
             .keys = 140,
             .heads = 4,
             .headDim = 64,
             .causal = true,
             .dropout = 0.2f,
             .window = 20,
             .softCap = 2.0f,
             .hasLengths = true,
             .bias = {1, 4, 140, 140},
             .document = 30},
        Case{.queries = 70,
             .keys = 70,
             .heads = 4,
             .headDim = 32,
             .causal = true,
             .hasSlopes = true},
        Case{.type = BF16,
             .queries = 70,
             .keys = 70,
             .heads = 4,
             .headDim = 32,
             .causal = false,
             .hasLengths = true,
             .bias = {1, 4, 70, 70},
             .hasSlopes = true},
        Case{.type = F16,
             .queries = 33,
             .keys = 40,
             .headDim = 64,
             .causal = true,
             .prefix = 9,
             .bias = {2, 1, 1, 40}},
        Case{.type = BF16,
             .queries = 33,
             .keys = 33,
             .headDim = 192,
             .causal = true,
             .batch = 1,
             .valueDim = 128}));

// Sinks of every kernel: those of tensor cores with windows, grouped heads, dropout and queries
// that see no key, and the general ones with the scores that only they have.
INSTANTIATE_TEST_SUITE_P(
    Sinks, AttentionKernel,
    testing::Values(
        Case{.queries = 1, .keys = 1, .hasSinks = true},
        Case{.queries = 65, .keys = 65, .heads = 4, .headDim = 20, .gap = 5, .hasSinks = true},
        Case{.queries = 33, .keys = 31, .heads = 4, .headDim = 32, .hasSinks = true},
        Case{.queries = 150,
             .keys = 150,
             .heads = 4,
             .headDim = 32,
             .causal = false,
             .dropout = 0.2f,
             .window = 20,
             .softCap = 2.0f,
             .hasLengths = true,
             .hasSinks = true},
        Case{.queries = 70,
             .keys = 70,
             .heads = 4,
             .headDim = 32,
             .bias = {1, 4, 70, 70},
             .hasSlopes = true,
             .document = 20,
             .hasSinks = true},
        Case{.type = BF16, .queries = 65, .keys = 65, .heads = 4, .kvHeads = 1, .hasSinks = true},
        Case{.type = BF16, .queries = 33, .keys = 31, .heads = 4, .hasSinks = true},
        Case{.type = BF16, .queries = 300, .keys = 64, .heads = 2, .hasSinks = true},
        Case{.type = BF16,
             .queries = 150,
             .keys = 150,
             .heads = 4,
             .headDim = 64,
             .dropout = 0.2f,
             .gap = 8,
             .window = 33,
             .hasSinks = true},
        Case{.type = BF16,
             .queries = 65,
             .keys = 97,
             .heads = 4,
             .headDim = 128,
             .causal = false,
             .hasSinks = true},
        Case{.type = F16, .queries = 70, .keys = 70, .heads = 4, .headDim = 96, .hasSinks = true},
        Case{.type = F16,
             .queries = 40,
             .keys = 40,
             .heads = 4,
             .headDim = 20,
             .softCap = 5.0f,
             .hasSinks = true}));

// Queries among, in front of and behind all keys, with each mask that compares positions.
INSTANTIATE_TEST_SUITE_P(
    Starts, AttentionKernel,
    testing::Values(Case{.queries = 70, .keys = 100, .headDim = 32, .starts = {0, 0}},
                    Case{.queries = 70, .keys = 100, .headDim = 32, .starts = {20, 61}},
                    Case{.queries = 70, .keys = 40, .headDim = 32, .window = 50, .starts = {30, 3}},
                    Case{.queries = 40, .keys = 70, .headDim = 32, .window = 9, .starts = {200, 3}},
                    Case{
                        .queries = 40, .keys = 70, .headDim = 32, .window = 90, .starts = {100, 0}},
                    Case{.queries = 40, .keys = 70, .headDim = 32, .starts = {1 << 30, 0}},
                    Case{.queries = 70,
                         .keys = 70,
                         .headDim = 32,
                         .causal = false,
                         .window = 200,
                         .starts = {160, 0}},
                    Case{.queries = 70,
                         .keys = 70,
                         .headDim = 32,
                         .causal = false,
                         .window = 200,
                         .starts = {0, 160}},
                    Case{.queries = 70,
                         .keys = 70,
                         .headDim = 32,
                         .causal = false,
                         .window = 20,
                         .hasLengths = true,
                         .starts = {5, 50}},
                    Case{.queries = 70, .keys = 70, .headDim = 32, .prefix = 40, .starts = {0, 15}},
                    Case{.queries = 70, .keys = 70, .headDim = 32, .prefix = 10, .starts = {0, 15}},
                    Case{.queries = 70,
                         .keys = 65,
                         .heads = 4,
                         .headDim = 32,
                         .causal = false,
                         .bias = {1, 4, 70, 65},
                         .hasSlopes = true,
                         .starts = {90, 4}},
                    Case{.type = BF16,
                         .queries = 70,
                         .keys = 100,
                         .headDim = 64,
                         .window = 33,
                         .hasSinks = true,
                         .starts = {50, 0}},
                    Case{.type = F16,
                         .queries = 33,
                         .keys = 70,
                         .headDim = 24,
                         .hasSlopes = true,
                         .starts = {40, 8}}));

// Blocks in front of windows, windows that end within blocks, and soft caps near and far from the
// scores; keys that no query sees, and queries that see no key.
INSTANTIATE_TEST_SUITE_P(Masks, AttentionKernel,
                         testing::Values(Case{F32, 150, 150, 4, 2, 32, true, 0, 5, 33},
                                         Case{F32, 130, 130, 1, 1, 40, true, 0.2f, 0, 64, 1, 2.0f},
                                         Case{F32, 40, 150, 2, 1, 64, true, 0, 0, 16},
                                         Case{F32, 70, 40, 2, 1, 64, true, 0, 0, 16},
                                         Case{F32, 65, 65, 2, 1, 64, false, 0, 0, 0, 1, 0.7f},
                                         Case{BF16, 300, 300, 2, 1, 64, true, 0, 0, 70, 1},
                                         Case{BF16, 150, 150, 4, 2, 64, true, 0.2f, 8, 33, 1, 2.0f},
                                         Case{BF16, 40, 150, 2, 1, 128, true, 0, 0, 16, 1},
                                         Case{BF16, 70, 40, 2, 1, 256, true, 0, 0, 16, 1, 5.0f},
                                         Case{BF16, 65, 65, 2, 1, 96, false, 0, 0, 0, 1, 0.7f},
                                         Case{BF16, 65, 65, 2, 1, 20, true, 0, 3, 20, 1, 0.7f},
                                         Case{F16, 150, 150, 2, 1, 64, true, 0, 0, 40, 1, 50.0f}));

// If values are the unit vectors, results are the weights, so zeros show what was dropped.
void expectSameMask(Case c) {
  Attention attention(c);
  Tensor &values = attention.values();
  std::vector<float> unit(static_cast<size_t>(values.size()));
  for (size_t i = 0; i < unit.size(); ++i) {
    size_t dim = i % static_cast<size_t>(c.headDim);
    size_t key = i / static_cast<size_t>(c.headDim * c.kvHeads) % static_cast<size_t>(c.keys);
    unit[i] = dim == key ? 1 : 0;
  }
  values.dense = toBytes(c.type, unit);
  std::vector<float> found = attention.onGpu().out, expected = attention.onCpu().out;
  size_t dropped = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i] == 0, expected[i] == 0) << "weight " << i;
    dropped += found[i] == 0;
  }
  EXPECT_GT(dropped, found.size() / 4);
}

TEST(AttentionDropout, DropsTheWeightsThatTheCpuDrops) {
  expectSameMask({F32, 33, 31, 4, 2, 32, false, 0.4f});
  expectSameMask({BF16, 33, 31, 4, 2, 32, false, 0.4f});
}

TEST(AttentionDropout, IsOffInStepZero) {
  for (ElementType type : {F32, BF16}) {
    Case c{type, 33, 33, 2, 2, 32, true, 0.4f}, without = c;
    without.dropout = 0;
    expectSame(Attention(c).onGpu(/*step=*/0), Attention(without).onCpu(), type);
  }
}

TEST(AttentionDropout, OfAllLeavesZeros) {
  Case c{BF16, 33, 33, 1, 1, 32, true, 1.0f};
  for (float value : Attention(c).onGpu().out)
    ASSERT_EQ(value, 0);
}

// Results do not depend on the order in which blocks and threads run.
TEST(AttentionKernelOrder, DoesNotMatter) {
  for (ElementType type : {F32, BF16}) {
    Case c{type, 65, 97, 4, 2, 32, true};
    Results first = Attention(c).onGpu(kStep, 1), second = Attention(c).onGpu(kStep, 2);
    EXPECT_EQ(first.out, second.out);
    EXPECT_EQ(first.dq, second.dq);
    EXPECT_EQ(first.dk, second.dk);
    EXPECT_EQ(first.dv, second.dv);
  }
}

// A window of all keys has no effect, and results of a narrow one are those of the keys in it.
TEST(AttentionWindow, SeesTheLastKeys) {
  for (ElementType type : {F32, BF16}) {
    Case c{type, 70, 70, 2, 1, 32, true}, wide = c, narrow = c;
    wide.window = 70;
    expectSame(Attention(wide).onGpu(), Attention(c).onCpu(), type);
    // Query i sees only key i: out is v, dv is dout, and scores have no gradient.
    narrow.window = 1;
    Results results = Attention(narrow).onGpu();
    Attention again(narrow);
    std::vector<float> values = toFloats(type, again.values().dense);
    for (size_t i = 0; i < results.out.size(); ++i) {
      size_t row = i / 64, dim = i % 32; // two heads of 32 share one kv head
      ASSERT_EQ(results.out[i], values[row * 32 + dim]) << i;
    }
    for (float value : results.dq)
      ASSERT_NEAR(value, 0, type == F32 ? 1e-4 : 1e-1);
    // Keys that no query sees, some of which fill a block, have no gradient.
    Case late{type, 40, 150, 2, 1, 64, true};
    late.window = 16;
    Results few = Attention(late).onGpu();
    size_t unseen = 150 - 40 + 1 - 16;
    for (const std::vector<float> *gradient : {&few.dk, &few.dv}) {
      for (size_t i = 0; i < gradient->size(); ++i)
        if (i / 64 % 150 < unseen)
          ASSERT_EQ((*gradient)[i], 0) << i;
      EXPECT_NE((*gradient)[64 * unseen], 0);
    }
  }
}

} // namespace
} // namespace dtc::cuda

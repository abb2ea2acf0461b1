#include "runtime/cuda/AttentionGraph.h"

#include "runtime/base/Text.h"

#include <limits>

namespace dtc::rt {
namespace {

using cuda::AttentionParams;
using cuda::HeadStrides;

constexpr int64_t kVectorElements = 8; // 16-bit elements in 16 bytes
constexpr uintptr_t kVectorBytes = 16;
constexpr int kMostHeadDim = 128;

// Ids of tensors in memory.
enum Id : int64_t { kQ = 1, kK, kV, kOut, kLse, kDout, kDq, kDk, kDv, kDelta };

bool isWhole(const HeadStrides &strides) {
  return strides.batch % kVectorElements == 0 && strides.token % kVectorElements == 0 &&
         strides.head % kVectorElements == 0;
}
bool isAligned(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % kVectorBytes == 0;
}

// Swaps the last two of four dimensions.
CudnnSizes swapped(const CudnnSizes &of) { return {of[0], of[1], of[3], of[2]}; }

std::string wordsOf(const HeadStrides &strides) {
  return format::text(strides.batch, ",", strides.token, ",", strides.head);
}

cu::CudnnData typeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return cu::cudnnF32;
  case ElementType::BF16:
    return cu::cudnnBf16;
  case ElementType::F16:
    return cu::cudnnF16;
  }
  __builtin_unreachable();
}

class Builder {
public:
  Builder(const AttentionCase &attention, CudnnGraph &graph)
      : p(attention.params), g(graph), type(typeOf(attention.type)) {}

  void forward();
  void backward();

private:
  CudnnSizes querySizes() const { return {p.batch, p.heads, p.queries, p.headDim}; }
  CudnnSizes keySizes() const { return {p.batch, p.kvHeads, p.keys, p.headDim}; }
  CudnnSizes scoreSizes() const { return {p.batch, p.heads, p.queries, p.keys}; }
  CudnnSizes rowSizes() const { return {p.batch, p.heads, p.queries, 1}; }
  static CudnnSizes inMemory(const HeadStrides &strides) {
    return {strides.batch, strides.head, strides.token, 1};
  }
  CudnnTensor heads(Id id, const CudnnSizes &sizes, const HeadStrides &strides) {
    return g.memory(id, type, sizes, inMemory(strides));
  }
  CudnnTensor headsTransposed(Id id, const CudnnSizes &sizes, const HeadStrides &strides) {
    return g.memory(id, type, swapped(sizes), swapped(inMemory(strides)));
  }
  CudnnTensor rows(Id id) {
    int64_t queries = p.queries;
    return g.memory(id, cu::cudnnF32, rowSizes(), {p.heads * queries, queries, 1, 1});
  }
  // Returns y = x op b with the sizes `sizes`.
  CudnnTensor with(cu::CudnnMode mode, const CudnnTensor &x, const CudnnTensor *b,
                   const CudnnSizes &sizes) {
    CudnnTensor y = g.between(cu::cudnnF32, sizes);
    g.pointwise(mode, x, b, y);
    return y;
  }
  CudnnTensor reduced(int how, const CudnnTensor &x, const CudnnSizes &sizes) {
    CudnnTensor y = g.between(cu::cudnnF32, sizes);
    g.reduce(how, x, y);
    return y;
  }
  // Returns scale * q k^T.
  CudnnTensor scores(const CudnnTensor &q, const CudnnTensor &keysTransposed);
  // Sets elements to -inf if a query does not see the key.
  CudnnTensor masked(const CudnnTensor &x);
  // Returns x as the 16-bit left operand of a matrix product, with the last two dimensions swapped.
  CudnnTensor turned(const CudnnTensor &x);
  // Computes the gradients of all query heads, summed over those of a kv head.
  void keyGradient(const CudnnTensor &weights, const CudnnTensor &right, const CudnnTensor &result);

  const AttentionParams &p;
  CudnnGraph &g;
  cu::CudnnData type;
};

CudnnTensor Builder::scores(const CudnnTensor &q, const CudnnTensor &keysTransposed) {
  CudnnTensor product = g.between(cu::cudnnF32, scoreSizes());
  g.matmul(q, keysTransposed, product);
  CudnnTensor scale = g.value(p.scale);
  return with(cu::cudnnMul, product, &scale, scoreSizes());
}

// Masks the scores: query i sees key j if i + keys - queries >= j.
CudnnTensor Builder::masked(const CudnnTensor &x) {
  if (!p.causal)
    return x;
  CudnnTensor row = g.between(cu::cudnnI32, scoreSizes());
  CudnnTensor column = g.between(cu::cudnnI32, scoreSizes());
  g.genIndex(x, 2, row);
  g.genIndex(x, 3, column);
  auto shift = [&](cu::CudnnMode mode, int32_t count) {
    CudnnTensor shifted = g.between(cu::cudnnI32, scoreSizes()), by = g.value(count);
    g.pointwise(mode, row, &by, shifted, cu::cudnnI32);
    row = shifted;
  };
  if (p.keys != p.queries) {
    shift(cu::cudnnAdd, p.keys);
    shift(cu::cudnnSub, p.queries);
  }
  CudnnTensor isSeen = g.between(cu::cudnnBool, scoreSizes());
  g.pointwise(cu::cudnnCompareGe, row, &column, isSeen, cu::cudnnBool);
  CudnnTensor hidden = g.value(-std::numeric_limits<float>::infinity());
  CudnnTensor y = g.between(cu::cudnnF32, scoreSizes());
  g.select(x, hidden, isSeen, y);
  return y;
}

// Builds out = softmax(scores) v, lse = max + log sum exp(scores - max).
void Builder::forward() {
  CudnnTensor q = heads(kQ, querySizes(), p.qStrides);
  CudnnTensor keys = headsTransposed(kK, keySizes(), p.kStrides);
  CudnnTensor values = heads(kV, keySizes(), p.vStrides);
  CudnnTensor out = heads(kOut, querySizes(), p.outStrides), lse = rows(kLse);
  CudnnTensor x = masked(scores(q, keys));
  CudnnTensor greatest = reduced(cu::cudnnReduceMax, x, rowSizes());
  CudnnTensor less = with(cu::cudnnSub, x, &greatest, scoreSizes());
  CudnnTensor powers = with(cu::cudnnExp, less, nullptr, scoreSizes());
  CudnnTensor sum = reduced(cu::cudnnReduceAdd, powers, rowSizes());
  CudnnTensor log = with(cu::cudnnLog, sum, nullptr, rowSizes());
  g.pointwise(cu::cudnnAdd, greatest, &log, lse);
  CudnnTensor weights = g.between(type, scoreSizes());
  g.pointwise(cu::cudnnDiv, powers, &sum, weights);
  g.matmul(weights, values, out);
}

CudnnTensor Builder::turned(const CudnnTensor &x) {
  int64_t keys = p.keys, all = p.queries * keys;
  CudnnTensor y = g.between(type, swapped(scoreSizes()), {p.heads * all, all, 1, keys});
  g.reshape(x, y);
  return y;
}

void Builder::keyGradient(const CudnnTensor &weights, const CudnnTensor &right,
                          const CudnnTensor &result) {
  CudnnTensor left = turned(weights);
  if (p.heads == p.kvHeads) {
    g.matmul(left, right, result);
    return;
  }
  CudnnTensor each = g.between(type, {p.batch, p.heads, p.keys, p.headDim});
  g.matmul(left, right, each);
  g.reduce(cu::cudnnReduceAdd, each, result);
}

// Builds p = exp(scores - lse), dv = p^T dout, ds = scale * p * (dout v^T - rowsum(dout * out)), dk
// = ds^T q, dq = ds k. dq is the result of one matrix product instead of one that blocks add to, so
// that cuDNN chooses engines with the same bits in every run.
void Builder::backward() {
  CudnnTensor q = heads(kQ, querySizes(), p.qStrides);
  CudnnTensor keys = headsTransposed(kK, keySizes(), p.kStrides);
  CudnnTensor values = headsTransposed(kV, keySizes(), p.vStrides);
  CudnnTensor out = heads(kOut, querySizes(), p.outStrides), lse = rows(kLse);
  CudnnTensor dout = heads(kDout, querySizes(), p.doutStrides);
  CudnnTensor dq = heads(kDq, querySizes(), p.dqStrides);
  CudnnTensor dk = heads(kDk, keySizes(), p.dkStrides), dv = heads(kDv, keySizes(), p.dvStrides);
  CudnnTensor delta = rows(kDelta), one = g.value(1.0F), scale = g.value(p.scale);

  CudnnTensor products = g.between(cu::cudnnF32, querySizes());
  g.pointwise(cu::cudnnMul, dout, &out, products);
  CudnnTensor sums = reduced(cu::cudnnReduceAdd, products, rowSizes());
  g.pointwise(cu::cudnnMul, sums, &one, delta);

  CudnnTensor less = with(cu::cudnnSub, scores(q, keys), &lse, scoreSizes());
  CudnnTensor weights = with(cu::cudnnExp, masked(less), nullptr, scoreSizes());
  keyGradient(weights, dout, dv);

  CudnnTensor each = g.between(cu::cudnnF32, scoreSizes());
  g.matmul(dout, values, each);
  CudnnTensor centred = with(cu::cudnnSub, each, &delta, scoreSizes());
  CudnnTensor weighted = with(cu::cudnnMul, centred, &weights, scoreSizes());
  CudnnTensor dscores = with(cu::cudnnMul, weighted, &scale, scoreSizes());
  keyGradient(dscores, q, dk);

  CudnnTensor rowsOfKeys = g.between(type, swapped(keys.sizes), swapped(keys.strides));
  g.reshape(keys, rowsOfKeys);
  g.matmul(dscores, rowsOfKeys, dq);
}

} // namespace

bool isCudnnCase(const AttentionCase &attention) {
  const AttentionParams &p = attention.params;
  if (attention.type == ElementType::F32 || p.keptFrom > 0 || p.window > 0 || p.softCap > 0 ||
      p.dlse || p.prefix > 0 || p.hasLengths || p.hasSlopes || p.hasDocuments || p.hasSinks ||
      p.hasStarts || p.biasSizes[0] > 0 || p.valueDim > 0)
    return false;
  // cuDNN has no engine for a gradient of one query and one key.
  bool isSized = p.batch > 0 && p.queries > 0 && p.keys > 1 && p.heads > 0 && p.kvHeads > 0 &&
                 p.heads % p.kvHeads == 0 && (!p.causal || p.queries <= p.keys);
  if (!isSized || p.headDim % kVectorElements != 0 || p.headDim > kMostHeadDim)
    return false;
  bool isFit =
      isWhole(p.qStrides) && isWhole(p.kStrides) && isWhole(p.vStrides) && isWhole(p.outStrides);
  for (const void *each :
       {p.q, p.k, p.v, static_cast<const void *>(p.out), static_cast<const void *>(p.lse)})
    isFit = isFit && isAligned(each);
  if (!attention.isGradient)
    return isFit;
  for (const void *each : {p.dout, static_cast<const void *>(p.dq), static_cast<const void *>(p.dk),
                           static_cast<const void *>(p.dv), static_cast<const void *>(p.delta)})
    isFit = isFit && isAligned(each);
  return isFit && isWhole(p.doutStrides) && isWhole(p.dqStrides) && isWhole(p.dkStrides) &&
         isWhole(p.dvStrides);
}

std::string describeAttention(const AttentionCase &attention) {
  const AttentionParams &p = attention.params;
  std::string words = format::text(
      "attention 1 ", attention.isGradient ? "gradient " : "forward ",
      static_cast<int>(attention.type), " ", p.batch, " ", p.queries, " ", p.keys, " ", p.heads,
      " ", p.kvHeads, " ", p.headDim, " ", p.causal, " ", p.scale, " ", wordsOf(p.qStrides), " ",
      wordsOf(p.kStrides), " ", wordsOf(p.vStrides), " ", wordsOf(p.outStrides));
  if (attention.isGradient)
    words += format::text(" ", wordsOf(p.doutStrides), " ", wordsOf(p.dqStrides), " ",
                          wordsOf(p.dkStrides), " ", wordsOf(p.dvStrides));
  return words;
}

Status buildAttention(const AttentionCase &attention, CudnnGraph &graph) {
  Builder builder(attention, graph);
  attention.isGradient ? builder.backward() : builder.forward();
  return graph.finish();
}

CudnnPointers pointersOf(const AttentionCase &attention) {
  const AttentionParams &p = attention.params;
  CudnnPointers pointers{{kQ, const_cast<void *>(p.q)},
                         {kK, const_cast<void *>(p.k)},
                         {kV, const_cast<void *>(p.v)},
                         {kOut, p.out},
                         {kLse, p.lse}};
  if (attention.isGradient)
    pointers.insert({{kDout, const_cast<void *>(p.dout)},
                     {kDq, p.dq},
                     {kDk, p.dk},
                     {kDv, p.dv},
                     {kDelta, p.delta}});
  return pointers;
}

double flopsOf(const AttentionCase &attention) {
  const AttentionParams &p = attention.params;
  constexpr double forward = 4, backward = 10;
  return (attention.isGradient ? backward : forward) * p.batch * p.heads * p.queries * p.keys *
         p.headDim * (p.causal ? 0.5 : 1);
}

} // namespace dtc::rt

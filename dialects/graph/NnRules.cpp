// Rules of the layers: their loops, and the loops that can be split.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// y[rows, out] = sum over in of x[rows, in] w[in, out]: M rows, N out, K in. Zero rows, in or out
// give zeros or add none. Not jointly linear: the product of two sums is not the sum of products.
OpRule LinearOp::getRule() {
  RuleBuilder builder;
  int64_t lead = tensorType(getX()).getRank() - getContract();
  TensorLoops rows = builder.loops(getX(), 0, lead);
  TensorLoops out = builder.loops(getResult(), lead);
  TensorLoops in = builder.loops(getX(), lead, -1, LoopKind::Sum);
  builder.operand(rows + in).operand(getTransposed() ? out + in : in + out).result(rows + out);
  return builder.product().channels(in + out).zeroPreserving().take();
}

// c[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]; either operand may be transposed.
OpRule MatmulOp::getRule() {
  RuleBuilder builder;
  int64_t batch = tensorType(getA()).getRank() - 2;
  TensorLoops lead = builder.loops(getA(), 0, batch);
  TensorLoops m = builder.loops(getResult(), batch, batch + 1);
  TensorLoops n = builder.loops(getResult(), batch + 1, batch + 2);
  int64_t kDim = getTransposeA() ? batch : batch + 1;
  TensorLoops k = builder.loops(getA(), kDim, kDim + 1, LoopKind::Sum);
  builder.operand(lead + (getTransposeA() ? k + m : m + k));
  builder.operand(lead + (getTransposeB() ? n + k : k + n));
  builder.result(lead + (m + n));
  return builder.product().zeroPreserving().take();
}

// out[t, c] = table[ids[t], c]. A rank has some rows and gives 0 for other ids, so a split over
// rows leaves sums with one nonzero term (vocabulary-parallel embedding, Shoeybi et al. 2019,
// arXiv:1909.08053, section 3). Padded ids would look up row 0: tokens must not be padded; rows may
// be, because the op knows them.
OpRule EmbeddingOp::getRule() {
  RuleBuilder builder;
  TensorLoops tokens = builder.loops(getIds());
  TensorLoops column = builder.loops(getTable(), 1, 2);
  TensorLoops row = builder.loops(getTable(), 0, 1, LoopKind::Sum);
  builder.operand(row + column).operand(tokens).result(tokens + column).indexed(row);
  builder.sequence(sequenceOfTokens(tokens)).channels(column);
  return builder.flops(0).take();
}

// The rule of ops on rows. Rows are independent; within a row, of channels or probabilities, every
// element depends on all others, through sums or a maximum that are finished in between.
static RuleBuilder rowRule(Operation *op, double flopsPerPoint) {
  RuleBuilder builder;
  Value x = op->getOperand(0);
  int64_t last = tensorType(x).getRank() - 1;
  TensorLoops rows = builder.loops(x, 0, last);
  TensorLoops column = builder.loops(x, last, last + 1, LoopKind::Staged);
  builder.operand(rows + column);
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    builder.operand(column);
  builder.result(rows + column);
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    builder.result(rows);
  return builder.flops(flopsPerPoint);
}

static RuleBuilder normRule(Operation *op, double flopsPerPoint) {
  auto column = static_cast<unsigned>(tensorType(op->getOperand(0)).getRank() - 1);
  return rowRule(op, flopsPerPoint).kind(OpKind::Normalisation).channels({{column}});
}

// A row of zeros has rstd = 1 / sqrt(epsilon), so rows must not be padded; nor must columns, since
// (0 - mean) * rstd in a padded column is not 0 either.
OpRule LayerNormOp::getRule() { return normRule(*this, 8).take(); }

// Padded columns add nothing to the sum of squares and give 0 * rstd * weight; a padded row has an
// rstd.
OpRule RmsNormOp::getRule() {
  RuleBuilder builder = normRule(*this, 5).composite().zeroPreserving();
  TensorLoops rows;
  for (unsigned loop = 0; loop + 1 < static_cast<unsigned>(getX().getType().getRank()); ++loop)
    rows.push_back({loop});
  return builder.fed(rows).take();
}

// exp(0 - max) is not 0: a padded column would add to the sum.
OpRule SoftmaxOp::getRule() { return rowRule(*this, 12).take(); }

// No operands: each position depends on its global index alone. Pairs are whole, since the heads of
// a rank read all of them.
OpRule RotaryTableOp::getRule() {
  RuleBuilder builder;
  TensorLoops position = builder.loops(getCos(), 0, 1);
  TensorLoops frequency = builder.loops(getCos(), 1, 2, LoopKind::Whole);
  builder.result(position + frequency).result(position + frequency).indexed(position);
  builder.sequence(position).channels(frequency);
  return builder.flops(20).take();
}

// y[i] and y[i + h] both read x[i] and x[i + h]: head_dim is (half, pair), and its parts would not
// hold pairs. The table shares the position loop, so a split sequence uses its part of both. Each
// point takes 3 flops: 2 multiplications, 1 addition.
OpRule RotaryOp::getRule() {
  RuleBuilder builder;
  TensorLoops lead = builder.loops(getX(), 0, 3); // batch, position, head
  TensorLoops half = {builder.loop(2, LoopKind::Whole)};
  TensorLoops pair = builder.loops(getCos(), 1, 2, LoopKind::Whole);
  TensorLoops table = {lead[1], pair[0]};
  if (tensorType(getCos()).getRank() == 3) // angles of each sample
    table = {lead[0], lead[1], pair[0]};
  TensorLoops x = lead + TensorLoops{{half[0][0], pair[0][0]}};
  builder.operand(x).operand(table).operand(table).result(x);
  builder.sequence({lead[1]}).channels({lead[2], half[0], pair[0]});
  return builder.flops(3).composite().zeroPreserving().take();
}

namespace {

// The loops of attention: batch, kv head, group (query heads per kv head), query, key, head dim.
// Ranks with the same kv heads may divide the group, or queries; dk and dv are then partial sums,
// and dbias is one over what shares its bias. A head dim of values that is another one has no loop:
// it moves with none.
struct AttentionLoops {
  template <typename OpTy>
  AttentionLoops(RuleBuilder &builder, OpTy op, bool hasBiasGradient, LoopKind queriesKind) {
    RankedTensorType qType = tensorType(op.getQ()), kType = tensorType(op.getK()),
                     vType = tensorType(op.getV());
    auto kindOf = [&](unsigned biasDim, LoopKind otherwise) {
      bool shares = hasBiasGradient && tensorType(op.getBias()).getDimSize(biasDim) == 1;
      return shares ? LoopKind::Sum : otherwise;
    };
    DimLoops b = builder.loop(qType.getDimSize(0), kindOf(0, LoopKind::Parallel));
    DimLoops h = builder.loop(kType.getDimSize(2), kindOf(1, LoopKind::Parallel));
    DimLoops g =
        builder.loop(qType.getDimSize(2) / std::max<int64_t>(1, kType.getDimSize(2)), queriesKind);
    DimLoops t = builder.loop(qType.getDimSize(1), queriesKind);
    DimLoops s = builder.loop(kType.getDimSize(1), LoopKind::Whole);
    DimLoops d = builder.loop(qType.getDimSize(3), LoopKind::Whole);
    DimLoops valueDim = vType.getDimSize(3) == qType.getDimSize(3) ? d : DimLoops();
    DimLoops heads = {h[0], g[0]};
    q = {b, t, heads, d};
    k = {b, s, h, d};
    v = {b, s, h, valueDim};
    out = {b, t, heads, valueDim};
    lse = {b, heads, t};
    keyed = {b, h, g};
    grouped = {g};
    queries = t;
    keys = s;
    head = d;
    if (Value bias = op.getBias())
      for (auto [size, loops] : llvm::zip(tensorType(bias).getShape(), TensorLoops{b, heads, t, s}))
        this->bias.push_back(size == 1 ? DimLoops() : loops);
    builder.sequence({t, s}).channels({h, g, d});
  }

  // Adds lengths, bias, slopes, documents and starts, which all ranks have whole. Bias and slopes
  // stay in f32, as sinks do.
  template <typename OpTy> void addScores(RuleBuilder &builder, OpTy op) const {
    if (op.getLengths())
      builder.operand({q[0]});
    if (op.getBias())
      builder.completeOperand(bias);
    if (op.getSlopes())
      builder.completeOperand({q[2]});
    if (op.getDocuments())
      builder.operand({k[0], k[1]});
    if (op.getStarts())
      builder.operand({DimLoops()});
  }

  TensorLoops q, k, v, out, lse, bias;
  DimLoops queries, keys, head;
  TensorLoops keyed;   // loops whose global index keys the dropout mask
  TensorLoops grouped; // a padded query head still sees the keys and values of its group
};

// Returns the share of query-key pairs that a sliding window leaves. With a window of w every query
// of causal attention sees w keys, except the first w queries, which see fewer. For n keys, full
// causal attention has n^2 / 2 pairs and the window leaves out a triangle of (n - w)^2 / 2, so that
// the share is 1 - (1 - w / n)^2. Without causality there are twice as many pairs and triangles.
// Assumes as many queries as keys.
double slidingShare(std::optional<uint64_t> sliding, Value kValue) {
  auto keys = static_cast<double>(tensorType(kValue).getDimSize(1));
  if (!sliding || static_cast<double>(*sliding) >= keys)
    return 1;
  double hidden = 1 - static_cast<double>(*sliding) / keys;
  return 1 - hidden * hidden;
}

// Returns the flops per point: `perProduct` for each of the products with keys and with values,
// which have the head dim of values.
template <typename OpTy> double attentionFlops(OpTy op, double perProduct) {
  auto dim = static_cast<double>(tensorType(op.getQ()).getDimSize(3));
  auto valueDim = static_cast<double>(tensorType(op.getV()).getDimSize(3));
  double values = dim > 0 ? valueDim / dim : 1;
  return perProduct * (1 + values) * slidingShare(op.getSliding(), op.getK());
}

// Adds the pairs that a prefix shows to what a kernel does: causal attention of n keys has n^2 / 2,
// a prefix of p keys adds a triangle of p^2 / 2. Model flops count all pairs already.
template <typename OpTy> OpRule attentionRule(OpTy op, OpRule rule) {
  rule.isCausal = op.getCausal();
  if (std::optional<uint64_t> prefix = op.getPrefix()) {
    auto keys = static_cast<double>(tensorType(op.getK()).getDimSize(1));
    double share = std::min(1.0, static_cast<double>(*prefix) / keys); // more beside starts
    rule.flopsPerPoint *= 1 + share * share;
    rule.modelShare = 1 / (1 + share * share);
  }
  return rule;
}

} // namespace

// s[i, j] = scale q[i] k[j] + bias[i, j], out[i] = sum over j of softmax(s[i])[j] v[j]. Two loops
// are whole: keys, whose maximum and sum each row needs (as the rows of a softmax; ring attention
// would be stages with another merge); and head_dim, the sum of a matrix product within the op.
// Queries are split by context parallelism alone, for which partitioning takes causal masks apart.
// Zero heads give zero results. lse of a padded head is not zero, but only padded heads read it.
OpRule AttentionOp::getRule() {
  RuleBuilder builder;
  AttentionLoops loops(builder, *this, /*hasBiasGradient=*/false, LoopKind::Parallel);
  builder.operand(loops.q).operand(loops.k).operand(loops.v);
  if (getSinks())
    builder.completeOperand({loops.q[2]});
  loops.addScores(builder, *this);
  builder.scalars(*this).result(loops.out);
  if (getLse())
    builder.result(loops.lse);
  if (getDropout().convertToDouble() > 0)
    builder.indexed(loops.keyed);
  double flops = attentionFlops(*this, 2); // two matrix products
  builder.attention(flops, loops.queries, loops.keys, loops.head).fed(loops.grouped);
  return attentionRule(*this, builder.zeroPreserving().take());
}

// dq, dk and dv have the loops of q, k and v. dk and dv lack the queries, and the group: query
// heads of one kv head are summed.
OpRule AttentionGradOp::getRule() {
  RuleBuilder builder;
  bool hasBiasGradient = static_cast<bool>(getDbias());
  AttentionLoops loops(builder, *this, hasBiasGradient, LoopKind::Sum); // dk, dv: over these
  builder.operand(loops.q).operand(loops.k).operand(loops.v);
  builder.operand(loops.out).operand(loops.lse).operand(loops.out);
  if (getDlse())
    builder.operand(loops.lse);
  loops.addScores(builder, *this);
  builder.scalars(*this);
  builder.result(loops.q).result(loops.k).result(loops.v);
  if (hasBiasGradient)
    builder.result(loops.bias);
  if (getDropout().convertToDouble() > 0)
    builder.indexed(loops.keyed);
  // four matrix products, without the recomputed ones
  double flops = attentionFlops(*this, 4);
  builder.attention(flops, loops.queries, loops.keys, loops.head).gradient().fed(loops.grouped);
  return attentionRule(*this, builder.zeroPreserving().take());
}

// loss = log(sum(exp(x))) - x[target]: the vocabulary loop is staged by a maximum, a sum and the
// picked element. Windows of the stages exclude padded entries; padded rows would have the loss
// log(entries).
OpRule CrossEntropyOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getTargets());
  int64_t last = rows.size();
  TensorLoops word = builder.loops(getLogits(), last, last + 1, LoopKind::Staged);
  builder.operand(rows + word).operand(rows).result(rows);
  if (getLse())
    builder.result(rows);
  return builder.indexed(word).flops(12).kind(OpKind::Loss).take();
}

// Padded targets are zeros, which may count.
OpRule CountedOp::getRule() { return pointwiseRule(*this, 1, false); }

// Nothing can be split, because the sum of the weights is that of a step; dtc-differentiate
// decomposes the op.
OpRule WeightedMeanOp::getRule() {
  RuleBuilder builder;
  TensorLoops all = builder.loops(getX(), 0, -1, LoopKind::Weighted);
  return builder.operand(all).operand(all).result({}).flops(3).take();
}

// sum over vocabulary entries of exp(x - max): 10 flops for exp, a subtraction, an addition.
OpRule SumExpOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getMax());
  int64_t last = rows.size();
  TensorLoops word = builder.loops(getX(), last, last + 1, LoopKind::Sum);
  builder.operand(rows + word).operand(rows).result(rows).indexed(word);
  return builder.flops(12).kind(OpKind::Loss).take();
}

// x[target]: a rank without the entry has 0. Padded rows are zeros in every entry.
OpRule PickOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getTargets());
  int64_t last = rows.size();
  TensorLoops word = builder.loops(getX(), last, last + 1, LoopKind::Sum);
  builder.operand(rows + word).operand(rows).result(rows).indexed(word);
  return builder.flops(0).zeroPreserving().take();
}

// Every index is needed: the mask is that of the whole tensor. Zero stays zero, kept or not.
OpRule DropoutOp::getRule() {
  RuleBuilder builder;
  TensorLoops space = builder.loops(getX());
  builder.operand(space).scalars(*this).result(space).indexed(space);
  return builder.flops(60).zeroPreserving().take(); // mostly for the random number
}

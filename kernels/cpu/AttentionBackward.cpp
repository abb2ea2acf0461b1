// Gradients of attention for one kv head: dq of its query heads, and its dk and dv.
//
// Per block of keys and block of queries, with P recomputed from lse and delta = rowsum(dout *
// out):
//   P = exp(scale * q k^T - lse)   dv += P^T dout   dP = dout v^T   dS = P * (dP - delta)
//   dq += scale * dS k             dk += scale * dS^T q
// With dropout, P counts as kept and scaled in dv, and dP in dS.
// Cost: 10 * queries * keys * headDim flops per head, half of it when causal.
// Source: Dao 2023, arXiv:2307.08691, algorithm 2.
#include "kernels/cpu/AttentionTiles.h"
#include "kernels/cpu/IsaTables.h"

namespace dtc::cpu::DTC_ISA {

namespace {

struct BackwardWorkspace {
  // Of the kv head: columns of panels for the two score products, rows for dq, and the sums.
  float *keyColumns, *valueColumns, *keyRows, *dk, *dv;
  // Of one query head: panels of A and of B.
  float *queryPanels, *doutPanels, *queryRows, *doutRows, *dq, *lse, *delta;
  float *weights, *gradients; // one block each of P and dS
  int64_t total;
};

BackwardWorkspace layOut(const AttentionArgs &args, float *base) {
  Layout layout{base};
  BackwardWorkspace w;
  int64_t padded = roundUp(args.headDim, kTileColumns);
  w.keyColumns = layout.take(transposedSize(args.keys, args.headDim));
  w.valueColumns = layout.take(transposedSize(args.keys, args.headDim));
  w.keyRows = layout.take(naturalSize(args.keys, kKeyBlock, args.headDim));
  w.dk = layout.take(roundUp(args.keys, kKeyBlock) * padded);
  w.dv = layout.take(roundUp(args.keys, kKeyBlock) * padded);
  int64_t queries = roundUp(args.queries, kQueryBlock);
  w.queryPanels = layout.take(queries * args.headDim);
  w.doutPanels = layout.take(queries * args.headDim);
  w.queryRows = layout.take(naturalSize(args.queries, kQueryBlock, args.headDim));
  w.doutRows = layout.take(naturalSize(args.queries, kQueryBlock, args.headDim));
  w.dq = layout.take(queries * padded);
  w.lse = layout.take(queries);
  w.delta = layout.take(queries);
  w.weights = layout.take(kQueryBlock * kKeyBlock);
  w.gradients = layout.take(kQueryBlock * kKeyBlock);
  w.total = layout.used;
  return w;
}

struct BlockPosition {
  int64_t batchIndex, head, query, rows, key, width;
};

// delta[i] = sum over d of dout[i,d] * out[i,d].
void rowProducts(HeadView dout, HeadView out, int64_t rows, int64_t headDim, float *delta) {
  for (int64_t i = 0; i < rows; ++i) {
    Vec total = {};
    int64_t d = 0;
    for (; d + kLanes <= headDim; d += kLanes)
      total += load(dout.row(i) + d) * load(out.row(i) + d);
    float sum = sumLanes(total);
    for (; d < headDim; ++d)
      sum += dout.row(i)[d] * out.row(i)[d];
    delta[i] = sum;
  }
}

void prepareHead(const AttentionGradArgs &args, int64_t batchIndex, int64_t head,
                 const BackwardWorkspace &w) {
  const AttentionArgs &f = args.forward;
  HeadView query = headView(f.q, f.queries, f.heads, f.headDim, batchIndex, head);
  HeadView dout = headView(args.dout, f.queries, f.heads, f.headDim, batchIndex, head);
  HeadView out = headView(f.out, f.queries, f.heads, f.headDim, batchIndex, head);
  for (int64_t i = 0; i < f.queries; i += kQueryBlock) {
    int64_t rows = least(kQueryBlock, f.queries - i);
    packRowPanels(query, i, rows, f.headDim, f.scale * kLog2E, w.queryPanels + i * f.headDim);
    packRowPanels(dout, i, rows, f.headDim, 1, w.doutPanels + i * f.headDim);
  }
  packNatural(query, f.queries, kQueryBlock, f.headDim, w.queryRows);
  packNatural(dout, f.queries, kQueryBlock, f.headDim, w.doutRows);
  float *delta = args.scratch + (batchIndex * f.heads + head) * f.queries;
  rowProducts(dout, out, f.queries, f.headDim, delta);
  const float *lse = f.lse + (batchIndex * f.heads + head) * f.queries;
  int64_t queries = roundUp(f.queries, kQueryBlock);
  for (int64_t i = 0; i < queries; ++i) {
    // +inf makes exp2(score - lse) zero: for a row that saw no key, and for padding.
    bool empty = i >= f.queries || lse[i] == -__builtin_inff();
    w.lse[i] = empty ? __builtin_inff() : lse[i] * kLog2E;
    w.delta[i] = empty ? 0 : delta[i];
  }
  memset(w.dq, 0, queries * roundUp(f.headDim, kTileColumns) * sizeof(float));
}

// In place: scores become P (kept and scaled under dropout), products dout v^T become dS.
void gradientRow(const AttentionArgs &args, const BlockPosition &at, int64_t row,
                 const BackwardWorkspace &w) {
  float *weights = w.weights + row * kKeyBlock, *gradients = w.gradients + row * kKeyBlock;
  int64_t seen = least(at.width, visibleKeys(args, at.query + row) - at.key);
  // Whole tiles of columns are read by accumulateColumns, so what is not seen must be 0.
  int64_t columns = least(kKeyBlock, roundUp(roundUp(at.width, kTileRows), kLanes));
  Vec lse = splat(w.lse[at.query + row]), delta = splat(w.delta[at.query + row]);
  DropoutRow dropout(args, at.batchIndex, at.head, at.query + row);
  int64_t j = 0;
  for (; j < seen; j += kLanes) {
    IntVec visible =
        splatInt(static_cast<int32_t>(j)) + iota() < splatInt(static_cast<int32_t>(seen));
    Vec weight = select(visible, exp2NonPositive(load(weights + j) - lse), Vec{});
    Vec product = select(visible, load(gradients + j), Vec{});
    if (args.dropout > 0) {
      Vec factor = dropout.factors(at.key + j);
      store(weights + j, weight * factor);
      product = product * factor;
    } else {
      store(weights + j, weight);
    }
    store(gradients + j, weight * (product - delta));
  }
  for (; j < columns; j += kLanes) {
    store(weights + j, Vec{});
    store(gradients + j, Vec{});
  }
}

void gradientBlock(const AttentionArgs &args, const BlockPosition &at, const BackwardWorkspace &w) {
  int64_t padded = roundUp(args.headDim, kTileColumns);
  scoreBlock(at.rows, at.width, args.headDim, w.queryPanels + at.query * args.headDim,
             w.keyColumns + at.key * args.headDim, w.weights);
  scoreBlock(at.rows, at.width, args.headDim, w.doutPanels + at.query * args.headDim,
             w.valueColumns + at.key * args.headDim, w.gradients);
  for (int64_t row = 0; row < at.rows; ++row)
    gradientRow(args, at, row, w);
  accumulateColumns(at.width, at.rows, padded, w.weights, w.doutRows + at.query * padded,
                    kQueryBlock, w.dv + at.key * padded);
  accumulateColumns(at.width, at.rows, padded, w.gradients, w.queryRows + at.query * padded,
                    kQueryBlock, w.dk + at.key * padded);
  accumulateRows(at.rows, at.width, padded, w.gradients, w.keyRows + at.key * padded, kKeyBlock,
                 w.dq + at.query * padded, 1);
}

void writeRows(const float *from, int64_t padded, int64_t rows, int64_t headDim, float scale,
               HeadView to) {
  for (int64_t i = 0; i < rows; ++i) {
    float *row = const_cast<float *>(to.row(i));
    for (int64_t d = 0; d < headDim; ++d)
      row[d] = scale * from[i * padded + d];
  }
}

} // namespace

int64_t attentionGradWorkspace(const AttentionArgs &args) { return layOut(args, nullptr).total; }

void attentionGradUnit(const AttentionGradArgs &args, int64_t batchIndex, int64_t kvHead,
                       float *workspace) {
  const AttentionArgs &f = args.forward;
  BackwardWorkspace w = layOut(f, workspace);
  int64_t padded = roundUp(f.headDim, kTileColumns), group = f.heads / f.kvHeads;
  HeadView key = headView(f.k, f.keys, f.kvHeads, f.headDim, batchIndex, kvHead);
  packTransposed(key, f.keys, f.headDim, w.keyColumns);
  packNatural(key, f.keys, kKeyBlock, f.headDim, w.keyRows);
  packTransposed(headView(f.v, f.keys, f.kvHeads, f.headDim, batchIndex, kvHead), f.keys, f.headDim,
                 w.valueColumns);
  memset(w.dk, 0, roundUp(f.keys, kKeyBlock) * padded * sizeof(float));
  memset(w.dv, 0, roundUp(f.keys, kKeyBlock) * padded * sizeof(float));
  for (int64_t head = kvHead * group; head < (kvHead + 1) * group; ++head) {
    prepareHead(args, batchIndex, head, w);
    for (int64_t first = 0; first < f.keys; first += kKeyBlock)
      for (int64_t query = 0; query < f.queries; query += kQueryBlock) {
        int64_t rows = least(kQueryBlock, f.queries - query);
        int64_t width = least(kKeyBlock, visibleKeys(f, query + rows - 1) - first);
        if (width > 0)
          gradientBlock(f, {batchIndex, head, query, rows, first, width}, w);
      }
    writeRows(w.dq, padded, f.queries, f.headDim, f.scale,
              headView(args.dq, f.queries, f.heads, f.headDim, batchIndex, head));
  }
  writeRows(w.dk, padded, f.keys, f.headDim, f.scale,
            headView(args.dk, f.keys, f.kvHeads, f.headDim, batchIndex, kvHead));
  writeRows(w.dv, padded, f.keys, f.headDim, 1,
            headView(args.dv, f.keys, f.kvHeads, f.headDim, batchIndex, kvHead));
}

} // namespace dtc::cpu::DTC_ISA

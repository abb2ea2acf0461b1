// Block sizes, packing, masks and dropout that attention's forward and backward pass share.
#pragma once

#include "kernels/cpu/AttentionMask.h"
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/Philox.h"
#include "kernels/cpu/Tile.h"

namespace dtc::cpu::DTC_ISA {

// Block sizes. A block of scores is 72 KiB, in the second-level cache. Measured on Zen 5, causal,
// 1024 tokens of 64: 96 x 192 runs at 156 (forward) and 162 (backward) GFLOP/s, 48 x 96 at 146 and
// 157. Both are multiples of every kTileRows, and kKeyBlock of every kTileColumns.
inline constexpr int kQueryBlock = 96;
inline constexpr int kKeyBlock = 192;
static_assert(kAttentionGrain % kQueryBlock == 0 && kAttentionGrain % kKeyBlock == 0);
static_assert(kQueryBlock % kTileRows == 0 && kKeyBlock % kTileRows == 0 &&
              kKeyBlock % kTileColumns == 0);

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kLn2 = 0.693147180559945309f;

// Allocates 64-byte aligned pieces of a workspace, or only counts them if the base is null.
struct Layout {
  float *base;
  int64_t used = 0;
  // Returns `count` floats; null if the base is null.
  float *take(int64_t count) {
    float *at = base ? base + used : nullptr;
    used += roundUp(count, 16) + 16; // slack for the last whole vector of packRows
    return at;
  }
};

// The rows of [batch, tokens, heads, headDim] at one batch index and head.
struct HeadView {
  const float *data;
  int64_t rowStride;
  // Returns the headDim floats of a token.
  const float *row(int64_t token) const { return data + token * rowStride; }
};

// Returns the view of one batch index and head. `row` is the distance between tokens in elements, 0
// if they have no gaps.
inline HeadView headView(const float *tensor, int64_t tokens, int64_t heads, int64_t headDim,
                         int64_t batchIndex, int64_t head, int64_t row = 0) {
  row = row == 0 ? heads * headDim : row;
  if (!tensor) // a tensor without elements may be null, to which no offset may be added
    return {nullptr, row};
  return {tensor + batchIndex * tokens * row + head * headDim, row};
}

// One block of scores: queries [query, query + rows) by keys [key, key + width) of one head.
struct ScoreBlock {
  int64_t batchIndex, head, query, rows, key, width;
};

// Returns one past the last of the block's keys that row `row` sees.
inline int64_t seenKeys(const AttentionArgs &args, const ScoreBlock &at, int64_t row) {
  return greatest(0, least(at.width, endKey(args, at.query + row) - at.key));
}
// Returns the number of the block's keys in front of the window of row `row`.
inline int64_t hiddenKeys(const AttentionArgs &args, const ScoreBlock &at, int64_t row) {
  return greatest(0, least(at.width, firstKey(args, at.query + row) - at.key));
}
// Returns the first row of the block that sees key `key` of the block.
inline int64_t firstSeeingRow(const AttentionArgs &args, const ScoreBlock &at, int64_t key) {
  return greatest(0, firstQuery(args, at.key + key) - at.query);
}
// Returns one past the last row of the block that sees key `key` of the block.
inline int64_t endSeeingRow(const AttentionArgs &args, const ScoreBlock &at, int64_t key) {
  return greatest(0, least(at.rows, endQuery(args, at.key + key) - at.query));
}

// Returns the number of floats that packTransposed writes for `rows` rows.
inline int64_t transposedSize(int64_t rows, int64_t headDim) {
  return roundUp(rows, kTileColumns) * headDim;
}
// Returns the number of floats that packNatural writes.
inline int64_t naturalSize(int64_t rows, int64_t block, int64_t headDim) {
  return roundUp(rows, block) * roundUp(headDim, kTileColumns);
}
// Returns the number of floats that packRowPanels writes.
inline int64_t rowPanelSize(int64_t rows, int64_t headDim) {
  return roundUp(rows, kTileRows) * headDim;
}

// Packs rows [0, rows) as columns of panels: [rows/kTileColumns][headDim][kTileColumns].
inline void packTransposed(HeadView view, int64_t rows, int64_t headDim, float *out) {
  for (int64_t j = 0; j < rows; j += kTileColumns)
    packPanelTransposed(view.row(j), view.rowStride, headDim, least(kTileColumns, rows - j),
                        out + j * headDim);
}

// Packs rows in blocks of `block`, each as panels:
// [rows/block][headDim/kTileColumns][block][kTileColumns].
inline void packNatural(HeadView view, int64_t rows, int64_t block, int64_t headDim, float *out) {
  int64_t padded = roundUp(headDim, kTileColumns);
  for (int64_t first = 0; first < rows; first += block)
    for (int64_t d = 0; d < headDim; d += kTileColumns)
      packPanelRows(view.row(first) + d, view.rowStride, least(block, rows - first),
                    least(kTileColumns, headDim - d), out + first * padded + d * block);
}

// Packs rows [first, first + rows) as panels of A: [rows/kTileRows][headDim][kTileRows], scaled.
inline void packRowPanels(HeadView view, int64_t first, int64_t rows, int64_t headDim, float scale,
                          float *out) {
  for (int64_t i = 0; i < rows; i += kTileRows)
    packRows(view.row(first + i), view.rowStride, least(kTileRows, rows - i), headDim, scale,
             out + i * headDim);
}

// Caps the scores [from, to) of one row, `cap` being in their units: s becomes cap * tanh(s / cap).
inline void capScores(float cap, float *scores, int64_t from, int64_t to) {
  Vec inverse = splat(1 / cap), factor = splat(cap);
  for (int64_t j = from; j < to; j += kLanes)
    store(scores + j, factor * tanh(load(scores + j) * inverse));
}

// Computes scores[rows, kKeyBlock] = A * (panels of transposed keys)^T of rows that are `dim` long.
// Tiles in which no row sees a key stay unchanged.
inline void scoreBlock(const AttentionArgs &args, const ScoreBlock &at, int64_t dim,
                       const float *rowPanels, const float *keyPanels, float *scores) {
  for (int64_t i = 0; i < at.rows; i += kTileRows) {
    int64_t seen = seenKeys(args, at, least(at.rows, i + kTileRows) - 1);
    for (int64_t j = hiddenKeys(args, at, i) / kTileColumns * kTileColumns; j < seen;
         j += kTileColumns)
      multiplyTile<1, kTileRows>(dim, rowPanels + i * dim, keyPanels + j * dim,
                                 scores + i * kKeyBlock + j, kKeyBlock, 1, 0);
  }
}

// Computes out[rows, padded dim] += weights[rows, keys] * panels of kKeyBlock rows; weights are
// row-major with stride kKeyBlock, 0 for keys that a row does not see.
inline void accumulateRows(const AttentionArgs &args, const ScoreBlock &at, int64_t dim,
                           const float *weights, const float *panels, float *out) {
  int64_t padded = roundUp(dim, kTileColumns);
  for (int64_t i = 0; i < at.rows; i += kTileRows) {
    int64_t hidden = hiddenKeys(args, at, i);
    int64_t depth = seenKeys(args, at, least(at.rows, i + kTileRows) - 1) - hidden;
    if (depth <= 0) // a block in front of the window
      continue;
    for (int64_t d = 0; d < padded; d += kTileColumns)
      multiplyTile<kKeyBlock, 1>(depth, weights + i * kKeyBlock + hidden,
                                 panels + d * kKeyBlock + hidden * kTileColumns,
                                 out + i * padded + d, padded, 1, 1);
  }
}

// Computes out[keys, padded dim] += weights[rows, keys]^T * panels of kQueryBlock rows.
inline void accumulateColumns(const AttentionArgs &args, const ScoreBlock &at, int64_t dim,
                              const float *weights, const float *panels, float *out) {
  int64_t padded = roundUp(dim, kTileColumns);
  for (int64_t i = 0; i < at.width; i += kTileRows) {
    int64_t first = least(at.rows, firstSeeingRow(args, at, i));
    int64_t end = endSeeingRow(args, at, least(at.width, i + kTileRows) - 1);
    if (end <= first)
      continue;
    for (int64_t d = 0; d < padded; d += kTileColumns)
      multiplyTile<1, kKeyBlock>(end - first, weights + first * kKeyBlock + i,
                                 panels + d * kQueryBlock + first * kTileColumns,
                                 out + i * padded + d, padded, 1, 1);
  }
}

// The numbers that are added to the scores of one row, in units of log 2: bias, and less
// slope * distance.
class AddedRow {
public:
  AddedRow(const AttentionArgs &args, const ScoreBlock &at, int64_t row)
      : isSome(args.bias || args.slopes), keysLeft(args.keys - at.key) {
    if (!isSome)
      return;
    BiasStrides strides = biasStrides(args);
    if (args.bias)
      bias = args.bias + at.batchIndex * strides.batch + at.head * strides.head +
             (at.query + row) * strides.query + at.key * strides.key;
    varies = strides.key > 0;
    slope = args.slopes ? args.slopes[at.head] * kLog2E : 0;
    distance = static_cast<float>(at.query + row + keyOfFirstQuery(args) - at.key);
  }

  // Returns what is added to keys [j, j + kLanes) of the block.
  Vec at(int64_t j) const {
    Vec added = {};
    if (bias) {
      Vec loaded = biasAt(j);
      added = select(loaded <= splat(kHidden), splat(-__builtin_inff()), loaded * splat(kLog2E));
    }
    if (slope != 0) {
      IntVec key = splatInt(static_cast<int32_t>(j)) + iota();
      Vec away = splat(distance) - __builtin_convertvector(key, Vec);
      added -= splat(slope) * maximum(away, -away);
    }
    return added;
  }

  const bool isSome;

private:
  static constexpr float kHidden = -1e30f;

  // Returns the bias of keys [j, j + kLanes); reads none behind the last key.
  Vec biasAt(int64_t j) const {
    if (!varies)
      return splat(*bias);
    if (j + kLanes <= keysLeft)
      return load(bias + j);
    Vec last = {};
    for (int64_t e = 0; j + e < keysLeft; ++e)
      last[e] = bias[j + e];
    return last;
  }

  int64_t keysLeft;
  const float *bias = nullptr;
  bool varies = false;
  float slope = 0, distance = 0;
};

// The dropout factors of one row: 1/(1-p) for kept weights, 0 for dropped ones.
class DropoutRow {
public:
  DropoutRow(const AttentionArgs &args, int64_t batchIndex, int64_t head, int64_t query)
      : key(args.seed), word2(static_cast<uint32_t>(args.dropoutId)),
        word3(static_cast<uint32_t>(args.step)),
        threshold(static_cast<uint32_t>(dropoutThreshold(args.dropout) - (args.dropout >= 1))),
        keptScale(args.dropout < 1 ? 1 / (1 - args.dropout) : 0) {
    int64_t row = ((args.globalBatch0 + batchIndex) * args.totalHeads + args.globalHead0 + head) *
                      args.queries +
                  query;
    first = static_cast<uint64_t>(row) * static_cast<uint64_t>(args.keys);
  }

  // Returns the factors of keys [j, j + kLanes).
  Vec factors(int64_t j) const {
    uint32_t words[kLanes];
    philoxWord0<kLanes>(first + static_cast<uint64_t>(j), word2, word3, key, words);
    UnsignedVec word;
    memcpy(&word, words, sizeof(word));
    return select(reinterpret_cast<IntVec>(word >= threshold), splat(keptScale), Vec{});
  }

private:
  uint64_t key, first;
  uint32_t word2, word3;
  uint32_t threshold; // 2^32 (p = 1) does not fit, but then kept weights have the factor 0 anyway
  float keptScale;
};

} // namespace dtc::cpu::DTC_ISA

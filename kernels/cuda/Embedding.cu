// Embedding look-up: out[t, :] = table[ids[t] - firstRow, :] if that row exists, else 0.
//
// Shapes: table [rows, columns], ids int32 [tokens], out [tokens, columns].
//
// Launch: one warp per token, kEmbeddingWarps per block; a row moves in units of 16, 4, 2 or 1
// bytes, the largest that divides it.
//
// Cost: reads and writes tokens * columns numbers: bandwidth-bound.
#include "kernels/cuda/Device.h"
#include "kernels/cuda/EmbeddingParams.h"
#include "kernels/cuda/EmbeddingTiling.h"

namespace dtc::cuda {

namespace {

template <typename Unit> DTC_DEVICE void lookUp(const EmbeddingParams &p) {
  int64_t token = static_cast<int64_t>(blockIndex()) * kEmbeddingWarps + threadIndex() / kWarp;
  if (token >= p.tokens)
    return;
  int64_t row = p.ids[token] - p.firstRow;
  bool exists = row >= 0 && row < p.rows;
  auto to = static_cast<Unit *>(p.out) + token * p.rowUnits;
  auto from = static_cast<const Unit *>(p.table) + (exists ? row : 0) * p.rowUnits;
  // Issues four loads before the first store, so that they are in flight together.
  constexpr int kTogether = 4;
  for (int64_t first = threadIndex() % kWarp; first < p.rowUnits; first += kTogether * kWarp) {
    Unit units[kTogether] = {};
#pragma unroll
    for (int i = 0; i < kTogether; ++i)
      if (exists && first + i * kWarp < p.rowUnits)
        units[i] = from[first + i * kWarp];
#pragma unroll
    for (int i = 0; i < kTogether; ++i)
      if (first + i * kWarp < p.rowUnits)
        to[first + i * kWarp] = units[i];
  }
}

} // namespace

#define DTC_EMBEDDING(bytes, Unit)                                                                 \
  DTC_KERNEL(kEmbeddingWarps * 32, 1)                                                              \
  Embedding_##bytes(const EmbeddingParams p) { lookUp<Unit>(p); }
DTC_EMBEDDING(16, Bytes16)
DTC_EMBEDDING(4, uint32_t)
DTC_EMBEDDING(2, uint16_t)

} // namespace dtc::cuda

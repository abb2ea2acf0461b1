// Copies or adds a box between two strided layouts: dst[...] = or += src[...].
//
// The host orders and joins dims (StridedCopy.cpp), and chooses a kernel:
// - copy16 .. copy1, add4, add1: units of this many bytes (add: f32), in order of dst; 16 bytes if
//   both sides are contiguous and aligned.
// - transpose8 .. transpose1, transposeAdd: if src is contiguous along another dim than dst; tiles
//   go through shared memory, so that both sides coalesce.
// - sum: adds up dims with stride 0 in dst, in order, as on CPUs.
//
// Launch: kCopyThreads threads; copies kCopyPerThread units each, transposes one tile per block.
//
// Cost: 2 (copy) or 3 (add) times the bytes of the box: bandwidth-bound.
#include "kernels/cuda/Device.h"
#include "kernels/cuda/StridedCopyParams.h"
#include "kernels/cuda/StridedCopyTiling.h"

namespace dtc::cuda {

namespace {

struct Offsets {
  int64_t src, dst;
};

// Returns the offsets of the index-th element of dims [0, count), the last one fastest. Divides in
// 32 bits if possible, which takes a fifth of the time.
template <typename Index> DTC_DEVICE Offsets locate(const CopyDim *dims, int count, Index index) {
  Offsets at = {0, 0};
  for (int i = count - 1; i >= 0; --i) {
    auto size = static_cast<Index>(dims[i].size);
    Index rest = i > 0 ? index / size : 0;
    auto position = static_cast<int64_t>(index - rest * size);
    at.src += position * dims[i].src;
    at.dst += position * dims[i].dst;
    index = rest;
  }
  return at;
}
DTC_DEVICE Offsets locateAny(const StridedCopyParams &p, const CopyDim *dims, int count,
                             int64_t index) {
  return p.units <= 0x7FFFFFFF ? locate(dims, count, static_cast<uint32_t>(index))
                               : locate(dims, count, static_cast<uint64_t>(index));
}

template <typename Unit, bool kAdd> DTC_DEVICE void copyUnits(const StridedCopyParams &p) {
  auto src = static_cast<const Unit *>(p.src);
  auto dst = static_cast<Unit *>(p.dst);
  int64_t first =
      static_cast<int64_t>(blockIndex()) * (kCopyThreads * kCopyPerThread) + threadIndex();
  // Issues all loads before the first store, so that they are in flight together.
  Unit units[kCopyPerThread] = {};
  int64_t to[kCopyPerThread];
#pragma unroll
  for (int i = 0; i < kCopyPerThread; ++i)
    if (int64_t unit = first + i * kCopyThreads; unit < p.units) {
      Offsets at = locateAny(p, p.dims, p.numDims, unit);
      to[i] = at.dst;
      units[i] = src[at.src];
      if constexpr (kAdd)
        units[i] += dst[at.dst];
    }
#pragma unroll
  for (int i = 0; i < kCopyPerThread; ++i)
    if (first + i * kCopyThreads < p.units)
      dst[to[i]] = units[i];
}

DTC_DEVICE void sumUnits(const StridedCopyParams &p) {
  int64_t unit = static_cast<int64_t>(blockIndex()) * kCopyThreads + threadIndex();
  if (unit >= p.units)
    return;
  Offsets at = locate(p.dims, p.numDims, static_cast<uint64_t>(unit));
  auto src = static_cast<const float *>(p.src) + at.src;
  auto dst = static_cast<float *>(p.dst) + at.dst;
  float sum = *dst;
  for (int64_t i = 0; i < p.sums; ++i)
    sum += src[locate(p.sumDims, p.numSumDims, static_cast<uint64_t>(i)).src];
  *dst = sum;
}

// Transposes planes: along `down` src is contiguous, along `across` dst.
template <typename Element, bool kAdd> DTC_DEVICE void transposeTiles(const StridedCopyParams &p) {
  constexpr int kTile = transposeTile(sizeof(Element)), kRowsTogether = kCopyThreads / 32;
  // Pads rows to an odd number of words: a column is then in 32 different banks.
  constexpr int kPadding = sizeof(Element) < 4 ? 4 / sizeof(Element) : 1;
  __attribute__((shared)) static Element tile[kTile][kTile + kPadding];
  const CopyDim &down = p.dims[p.numDims - 2], &across = p.dims[p.numDims - 1];
  int64_t unit = blockIndex();
  int64_t tilesAcross = (across.size + kTile - 1) / kTile,
          tilesDown = (down.size + kTile - 1) / kTile;
  int64_t j0 = unit % tilesAcross * kTile, i0 = unit / tilesAcross % tilesDown * kTile;
  Offsets at =
      locate(p.dims, p.numDims - 2, static_cast<uint64_t>(unit / (tilesAcross * tilesDown)));
  auto src = static_cast<const Element *>(p.src) + at.src + i0 + j0 * across.src;
  auto dst = static_cast<Element *>(p.dst) + at.dst + i0 * down.dst + j0;
  int lane = static_cast<int>(threadIndex() % 32), warp = static_cast<int>(threadIndex() / 32);
  int64_t rows = down.size - i0, columns = across.size - j0;
#pragma unroll
  for (int j = 0; j < kTile; j += kRowsTogether)
#pragma unroll
    for (int i = 0; i < kTile; i += 32)
      if (i + lane < rows && j + warp < columns)
        tile[j + warp][i + lane] = src[i + lane + (j + warp) * across.src];
  blockBarrier();
#pragma unroll
  for (int i = 0; i < kTile; i += kRowsTogether)
#pragma unroll
    for (int j = 0; j < kTile; j += 32)
      if (i + warp < rows && j + lane < columns) {
        Element &to = dst[(i + warp) * down.dst + j + lane];
        if constexpr (kAdd)
          to += tile[j + lane][i + warp];
        else
          to = tile[j + lane][i + warp];
      }
}

} // namespace

#define DTC_COPY(name, body)                                                                       \
  DTC_KERNEL(kCopyThreads, 1) StridedCopy_##name(const StridedCopyParams p) { body(p); }
DTC_COPY(copy16, (copyUnits<Bytes16, false>))
DTC_COPY(copy8, (copyUnits<uint64_t, false>))
DTC_COPY(copy4, (copyUnits<uint32_t, false>))
DTC_COPY(copy2, (copyUnits<uint16_t, false>))
DTC_COPY(copy1, (copyUnits<uint8_t, false>))
DTC_COPY(add4, (copyUnits<Floats4, true>))
DTC_COPY(add1, (copyUnits<float, true>))
DTC_COPY(sum, sumUnits)
DTC_COPY(transpose8, (transposeTiles<uint64_t, false>))
DTC_COPY(transpose4, (transposeTiles<uint32_t, false>))
DTC_COPY(transpose2, (transposeTiles<uint16_t, false>))
DTC_COPY(transpose1, (transposeTiles<uint8_t, false>))
DTC_COPY(transposeAdd, (transposeTiles<float, true>))

} // namespace dtc::cuda

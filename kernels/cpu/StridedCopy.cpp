// Copies or adds a box between two strided layouts.
//
// Dims are ordered by the stride of dst and joined if both sides are contiguous; the result is rows
// of contiguous elements, two-dimensional transposes, or single elements. Cost: 2 (copy) or 3
// (accumulate) times the bytes of the box: bandwidth-bound.
#include "kernels/cpu/StridedCopy.h"

#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dtc::cpu {

namespace {

constexpr int kMaxDims = 12;
constexpr int64_t kBytesPerPiece = 64 * 1024;
constexpr int64_t kTransposeBlock =
    128; // 128 x 128 f32 on both sides fit in the second-level cache

// Rows of dst whose distance is a multiple of this share few cache sets, so a column of lines
// evicts itself. A block then goes through a buffer, whose rows are written as a whole: 27 against
// 12 GB/s at 3072 x 768 f32 on Zen 5, while other strides reach 75 GB/s directly and 40 through the
// buffer.
constexpr int64_t kAliasingBytes = 1024;

thread_local Scratch transposeScratch;

struct Dim {
  int64_t size, src, dst; // strides in elements
};

// The box, outermost dim first.
struct Box {
  Dim dims[kMaxDims];
  int count = 0;
};

// Orders by stride of dst, largest outermost, and joins dims that are contiguous on both sides.
Box simplify(const StridedCopyArgs &args) {
  Box box;
  for (int i = 0; i < args.numDims; ++i) {
    if (args.sizes[i] == 1)
      continue;
    Dim dim{args.sizes[i], args.srcStrides[i], args.dstStrides[i]};
    int at = box.count++; // insertion: few dims, equal strides keep their order
    for (; at > 0 && std::abs(box.dims[at - 1].dst) < std::abs(dim.dst); --at)
      box.dims[at] = box.dims[at - 1];
    box.dims[at] = dim;
  }
  int kept = 0;
  for (int i = 0; i < box.count; ++i) {
    Dim inner = box.dims[i];
    if (kept > 0) {
      Dim &outer = box.dims[kept - 1];
      if (outer.src == inner.src * inner.size && outer.dst == inner.dst * inner.size) {
        outer = {outer.size * inner.size, inner.src, inner.dst};
        continue;
      }
    }
    box.dims[kept++] = inner;
  }
  box.count = kept;
  return box;
}

template <typename T> struct Mover {
  const T *src;
  T *dst;
  bool accumulate;

  void put(T &to, T from) const {
    if constexpr (std::is_same_v<T, float>)
      to = accumulate ? to + from : from;
    else
      to = from;
  }

  void row(int64_t src0, int64_t dst0, const Dim &dim) const {
    const T *from = src + src0;
    T *to = dst + dst0;
    if (dim.src == 1 && dim.dst == 1 && !accumulate) {
      std::memcpy(to, from, static_cast<size_t>(dim.size) * sizeof(T));
      return;
    }
    if (dim.src == 1 && dim.dst == 1) {
      for (int64_t i = 0; i < dim.size; ++i)
        put(to[i], from[i]);
      return;
    }
    for (int64_t i = 0; i < dim.size; ++i)
      put(to[i * dim.dst], from[i * dim.src]);
  }

  // Computes dst[i * outer.dst + j] from src[i + j * inner.src], in blocks.
  void plane(int64_t src0, int64_t dst0, const Dim &outer, const Dim &inner) const {
    for (int64_t i = 0; i < outer.size; i += kTransposeBlock)
      for (int64_t j = 0; j < inner.size; j += kTransposeBlock)
        block(src + src0 + i + j * inner.src, inner.src, dst + dst0 + i * outer.dst + j, outer.dst,
              std::min(kTransposeBlock, outer.size - i), std::min(kTransposeBlock, inner.size - j));
  }

  // Computes to[i * ldTo + j] from from[i + j * ldFrom].
  void block(const T *from, int64_t ldFrom, T *to, int64_t ldTo, int64_t rows,
             int64_t columns) const {
    if constexpr (sizeof(T) == 4) {
      auto words = reinterpret_cast<const float *>(from);
      if (!accumulate && ldTo * 4 % kAliasingBytes != 0) {
        isaKernels().transpose(words, ldFrom, reinterpret_cast<float *>(to), ldTo, columns, rows);
        return;
      }
      constexpr int64_t ldBuffer = kTransposeBlock + 16;
      float *buffer = transposeScratch.reserve(kTransposeBlock * ldBuffer);
      isaKernels().transpose(words, ldFrom, buffer, ldBuffer, columns, rows);
      const Mover through{reinterpret_cast<const T *>(buffer), to, accumulate};
      for (int64_t i = 0; i < rows; ++i)
        through.row(i * ldBuffer, i * ldTo, {columns, 1, 1});
    } else {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          put(to[i * ldTo + j], from[i + j * ldFrom]);
    }
  }
};

// Adds to `src` and `dst` the offsets of the index-th element of dims [0, count).
void locate(const Box &box, int count, int64_t index, int64_t &src, int64_t &dst) {
  for (int i = count - 1; i >= 0; --i) {
    int64_t at = index % box.dims[i].size;
    index /= box.dims[i].size;
    src += at * box.dims[i].src;
    dst += at * box.dims[i].dst;
  }
}

// Returns the dim along which src is contiguous and dst is not; -1 if the box is no transpose.
int transposedDim(const Box &box) {
  const Dim &inner = box.dims[box.count - 1];
  if (inner.dst != 1 || inner.src == 1)
    return -1;
  for (int i = box.count - 2; i >= 0; --i)
    if (box.dims[i].src == 1)
      return i;
  return -1;
}

template <typename T> void copyBox(const StridedCopyArgs &args, Box box, ThreadPool &pool) {
  Mover<T> mover{static_cast<const T *>(args.src), static_cast<T *>(args.dst), args.accumulate};
  if (box.count == 0)
    box.dims[box.count++] = {1, 1, 1};
  int64_t elements = 1;
  for (int i = 0; i < box.count; ++i)
    elements *= box.dims[i].size;
  const int64_t perPiece = kBytesPerPiece / static_cast<int64_t>(sizeof(T));
  // Keeps sums into one element (a dst stride of 0) on one thread.
  bool split = true;
  for (int i = 0; i < box.count; ++i)
    split &= box.dims[i].dst != 0;

  int across = transposedDim(box);
  Dim inner = box.dims[box.count - 1];
  if (across >= 0) {
    // Moves the transposed dim next to the innermost, and cuts it into blocks.
    std::rotate(box.dims + across, box.dims + across + 1, box.dims + box.count - 1);
    Dim outer = box.dims[box.count - 2];
    int64_t blocks = (outer.size + kTransposeBlock - 1) / kTransposeBlock;
    int64_t range = elements / (outer.size * inner.size) * blocks;
    int64_t grain = std::max<int64_t>(1, perPiece / (kTransposeBlock * inner.size));
    auto body = [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        int64_t first = unit % blocks * kTransposeBlock;
        int64_t src = first * outer.src, dst = first * outer.dst;
        locate(box, box.count - 2, unit / blocks, src, dst);
        Dim part{std::min(kTransposeBlock, outer.size - first), outer.src, outer.dst};
        mover.plane(src, dst, part, inner);
      }
    };
    pool.parallelFor(range, split ? grain : range, body);
    return;
  }
  // Copies rows, and cuts those longer than a piece.
  int64_t pieces = (inner.size + perPiece - 1) / perPiece;
  int64_t range = elements / inner.size * pieces;
  int64_t grain = std::max<int64_t>(1, perPiece / std::min(perPiece, inner.size));
  auto body = [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t first = unit % pieces * perPiece;
      int64_t src = first * inner.src, dst = first * inner.dst;
      locate(box, box.count - 1, unit / pieces, src, dst);
      mover.row(src, dst, {std::min(perPiece, inner.size - first), inner.src, inner.dst});
    }
  };
  pool.parallelFor(range, split ? grain : range, body);
}

} // namespace

void stridedCopy(const StridedCopyArgs &args, ThreadPool &pool) {
  for (int i = 0; i < args.numDims; ++i)
    if (args.sizes[i] == 0)
      return;
  Box box = simplify(args);
  switch (args.elementBytes) {
  case 1:
    return copyBox<uint8_t>(args, box, pool);
  case 2:
    return copyBox<uint16_t>(args, box, pool);
  case 4:
    return args.accumulate ? copyBox<float>(args, box, pool) : copyBox<uint32_t>(args, box, pool);
  case 8:
    return copyBox<uint64_t>(args, box, pool);
  }
}

} // namespace dtc::cpu

// Copies of boxes of elements.
//
// Sizes and strides are in elements, and tensors are row-major. The kernel splits its work over the
// given pool and gives bitwise the same result for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtc::cpu {

class ThreadPool;

// dst[...] = (accumulate ? dst[...] : 0) + src[...] over a box; `elementBytes` is 1, 2, 4 or 8
// (accumulate: f32 only). Contiguous dims are joined first, so that a plain copy is one memcpy.
struct StridedCopyArgs {
  const void *src;
  void *dst;
  size_t elementBytes;
  int numDims; // at most 12
  const int64_t *sizes, *srcStrides, *dstStrides;
  bool accumulate = false;
};
// Copies or adds the box of `args`.
void stridedCopy(const StridedCopyArgs &args, ThreadPool &pool);

} // namespace dtc::cpu

// The only parameter of the strided copies. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

inline constexpr int kMaxCopyDims = 12;

// A dim. Strides are in the units that the kernel copies: one element, or several contiguous ones
// (up to 16 bytes).
struct CopyDim {
  int64_t size, src, dst;
};

// dst[...] = or += src[...] over a box.
struct StridedCopyParams {
  const void *src;
  void *dst;
  int64_t units;   // product of the sizes of `dims`; for a transpose, tiles
  int64_t sums;    // product of the sizes of `sumDims`
  int32_t numDims; // outermost first; for a transpose the last two are the plane
  int32_t numSumDims;
  CopyDim dims[kMaxCopyDims];
  CopyDim sumDims[kMaxCopyDims]; // dims with stride 0 in dst: summed in order
};

} // namespace dtc::cuda

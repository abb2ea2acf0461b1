// The one parameter of the strided copies. Plain data, the same for host and device.
#pragma once

#include <stdint.h>

namespace dtc::cuda {

inline constexpr int kMaxCopyDims = 12;

// Strides in units, in bytes those that the kernel copies.
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
  CopyDim sumDims[kMaxCopyDims]; // of stride 0 in dst: added up in order
};

} // namespace dtc::cuda

// Launches of a strided copy; kernels/cpu/StridedCopy.h defines the semantics.
#pragma once

#include "kernels/cuda/Launch.h"
#include "kernels/cuda/StridedCopyParams.h"

#include <vector>

namespace dtc::cuda {

// A box between two layouts; sizes and strides are in elements of `elementBytes`: 1, 2, 4 or 8.
struct CopyBox {
  int elementBytes = 4;
  int numDims = 0; // at most kMaxCopyDims
  const int64_t *sizes = nullptr, *srcStrides = nullptr, *dstStrides = nullptr;
  bool accumulate = false; // f32 only
};

// Sets `params` and `launches`; none for an empty box. Pointers are those of the first elements,
// multiples of elementBytes. Null pointers count as fully aligned, so a plan made before they are
// known may use larger units than one made with them: planning with null pointers and then with
// pointers `slack` bytes after a multiple of 16 names both kernels. Returns an error message, or
// "".
//
// Example: [64, 48] f32 from strides [48, 1] to [1, 64]: StridedCopy_transpose4, 4 tiles.
[[nodiscard]] std::string planStridedCopy(const CopyBox &box, const void *src, void *dst,
                                          StridedCopyParams &params, std::vector<Launch> &launches);

} // namespace dtc::cuda

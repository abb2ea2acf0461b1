// A box of elements moved from one strided layout to another.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace dtc {

// A box of elements. Element i is read at sum of i * srcStrides and written at sum of i *
// dstStrides, in elements.
struct Box {
  llvm::SmallVector<int64_t, 6> sizes, srcStrides, dstStrides;

  bool operator==(const Box &other) const {
    return sizes == other.sizes && srcStrides == other.srcStrides && dstStrides == other.dstStrides;
  }
};

// Returns the row-major strides of a shape.
llvm::SmallVector<int64_t, 6> rowMajor(llvm::ArrayRef<int64_t> shape);

// Returns the product of the sizes.
int64_t numElements(llvm::ArrayRef<int64_t> shape);

// Returns the same box in as few dims as possible, at least one: dims of size 1 are removed,
// neighbours that are contiguous in both layouts are merged. Example: sizes [2, 3, 4] from [24, 4,
// 1] into [12, 4, 1] become sizes [2, 12] from [24, 1] into [12, 1].
Box collapse(Box box);

// Returns the box whose row-major result takes dim i from dim permutation[i] of a row-major source
// of `shape`.
Box transposeBox(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> permutation);

} // namespace dtc

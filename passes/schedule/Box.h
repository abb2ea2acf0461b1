// A box of elements moved from one strided layout to another.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace dtc {

// Element i of the box is read at sum of i * srcStrides and written at sum of i * dstStrides, in
// elements.
struct Box {
  llvm::SmallVector<int64_t, 6> sizes, srcStrides, dstStrides;

  bool operator==(const Box &other) const {
    return sizes == other.sizes && srcStrides == other.srcStrides && dstStrides == other.dstStrides;
  }
};

// Row-major strides of a shape.
llvm::SmallVector<int64_t, 6> rowMajor(llvm::ArrayRef<int64_t> shape);

int64_t numElements(llvm::ArrayRef<int64_t> shape);

// The same box in as few dims as possible, at least one: dims of size 1 go, neighbours that are
// contiguous in both layouts become one. Example: sizes [2, 3, 4] from [24, 4, 1] into [12, 4, 1]
// is sizes [2, 12] from [24, 1] into [12, 1].
Box collapse(Box box);

// Box that takes dim i of a row-major result from dim permutation[i] of a row-major source of
// `shape`.
Box transposeBox(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> permutation);

} // namespace dtc

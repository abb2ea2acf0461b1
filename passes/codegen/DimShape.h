// A tensor around one of its dims.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <cstdint>

namespace dtc {

// A tensor as [rows, size, columns], where `size` is one dim, and the dims before and behind it are
// merged.
struct DimShape {
  int64_t rows = 1, size = 1, columns = 1;

  DimShape(mlir::Value tensor, int64_t dim) {
    auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
    for (int64_t i = 0; i < type.getRank(); ++i)
      (i < dim ? rows : i == dim ? size : columns) *= type.getDimSize(static_cast<unsigned>(i));
  }
  // Returns the number of lines of `size` elements along the dim.
  int64_t lines() const { return rows * columns; }
};

} // namespace dtc

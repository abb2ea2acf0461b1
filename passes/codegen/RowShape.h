// A tensor as rows of its last dim, and how rows are dealt out to units.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "passes/codegen/PointwiseLoops.h"

namespace dtc {

struct RowShape {
  int64_t rows, columns;

  static RowShape of(mlir::Value tensor) {
    llvm::ArrayRef<int64_t> shape = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
    RowShape result{1, shape.back()};
    for (int64_t size : shape.drop_back())
      result.rows *= size;
    return result;
  }
  // Enough rows for a unit to have 1024 elements.
  int64_t rowsPerUnit() const {
    return std::max<int64_t>(1, (1024 + columns - 1) / std::max<int64_t>(columns, 1));
  }
  int64_t range() const { return (rows + rowsPerUnit() - 1) / rowsPerUnit(); }
};

} // namespace dtc

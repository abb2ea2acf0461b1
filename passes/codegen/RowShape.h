// A tensor as rows of its last dim, and how rows are dealt out to units.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "passes/codegen/PointwiseLoops.h"

namespace dtc {

// One of the independent units that a kernel's work is cut into, all but the last of which are alike.
struct KernelUnit {
  int64_t points = 1; // elements that it reads or writes most of
  bool combines =
      false; // whether a result depends on several of them, so that they are one block's
};

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
  KernelUnit unit(bool combines) const {
    return {std::max<int64_t>(1, std::min(rows, rowsPerUnit()) * columns), combines};
  }
};

} // namespace dtc

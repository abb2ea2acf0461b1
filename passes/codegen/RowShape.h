// A tensor as rows along its last dim, and their division into units.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "passes/codegen/PointwiseLoops.h"

namespace dtc {

// One of the independent units that the work of a kernel is cut into; all except the last have the
// same size.
struct KernelUnit {
  int64_t points = 1; // elements that it reads or writes, of its largest tensor
  bool combines =
      false; // a result depends on several points, so that one block must compute the unit
};

// A tensor of `rows` rows with `columns` elements each.
struct RowShape {
  int64_t rows, columns;

  // Returns the shape of `tensor` with all dims but the last merged into rows.
  static RowShape of(mlir::Value tensor) {
    llvm::ArrayRef<int64_t> shape = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
    RowShape result{1, shape.back()};
    for (int64_t size : shape.drop_back())
      result.rows *= size;
    return result;
  }
  // Returns the rows of a unit, enough for at least 1024 elements.
  int64_t rowsPerUnit() const {
    return std::max<int64_t>(1, (1024 + columns - 1) / std::max<int64_t>(columns, 1));
  }
  // Returns the number of units.
  int64_t range() const { return (rows + rowsPerUnit() - 1) / rowsPerUnit(); }
  // Returns a unit of rowsPerUnit rows.
  KernelUnit unit(bool combines) const {
    return {std::max<int64_t>(1, std::min(rows, rowsPerUnit()) * columns), combines};
  }
};

} // namespace dtc

// The points of a pointwise kernel; processors and GPUs wrap them in loops of their own.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/PointwiseLoops.h"

namespace dtc {

// Emits the body of a pointwise kernel.
// 1. Sorts the values of the body by how often they change: once per kernel, per row or per vector.
// 2. Computes the values of the first two kinds as scalars when the caller begins the kernel or a
// row.
// 3. Computes the others in vectors along the innermost loop.
class PointwiseBody {
public:
  using Value = mlir::Value;

  // Emits the body of `generic` through `k`.
  PointwiseBody(mlir::linalg::GenericOp generic, KernelBuilder &k);

  // Emits the values that are the same for the whole kernel; must be called first. Errors: an op
  // that does not work on vectors.
  llvm::LogicalResult beginKernel();
  // Emits the values that are the same for the whole row.
  void beginRow(Value row);
  // Emits the points of the row from `column` on.
  void emitVector(Value column, const Lanes &lanes);

  const PointwiseLoops &getLoops() const { return loops; }
  const UnitSplit &getSplit() const { return split; }
  bool draws(); // True if the body draws random numbers.
  // True if the lanes of every buffer are neighbours in memory or one element.
  bool isContiguous() const;
  // True if buffer `i` is read or written lane by lane.
  bool movesWithColumns(unsigned i) const { return levelOfBuffer(i) == Level::Vector; }
  // Returns the flat buffer `i`: the inputs, then the outputs.
  mlir::Value buffer(unsigned i) const { return buffers[i]; }

private:
  // The rate at which a value changes: once per kernel, per row or per vector.
  enum class Level { Kernel, Row, Vector };

  void addBuffer(mlir::OpOperand &operand);
  Level levelOfBuffer(unsigned i) const;
  llvm::LogicalResult sortByLevel();
  Level levelOf(Value value) const;
  void setRow(Value row);
  void emitScalars(Level level);
  Value scalar(Value value) const;
  Value position(unsigned buffer, Value column);
  Value columnIndices(Value column, int64_t lanes);

  KernelBuilder &k;
  mlir::OpBuilder &builder;
  mlir::linalg::GenericOp generic;
  PointwiseLoops loops;
  UnitSplit split;
  llvm::SmallVector<Value> buffers;     // flat buffers
  llvm::DenseMap<Value, Level> levels;  // levels of the values in the body
  llvm::DenseMap<Value, Value> scalars; // scalars that replace values of the levels Kernel and Row
  llvm::SmallVector<Value> rowIndices,
      bases; // state of the current row: index per loop, first element per buffer
};

} // namespace dtc

// The points of a pointwise kernel, which a processor or a GPU goes over in loops of its own.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/PointwiseLoops.h"

namespace dtc {

// 1. Sorts the values of the body by how often they change: once per kernel, per row, or per vector.
// 2. Computes the values of the first two kinds as scalars, where a caller begins the kernel or a row.
// 3. Computes the others in vectors along the innermost loop.
class PointwiseBody {
public:
  using Value = mlir::Value;

  // Emits by `k` what the body of `generic` says.
  PointwiseBody(mlir::linalg::GenericOp generic, KernelBuilder &k);

  // Before all else. Errors: an op that does not work on vectors.
  llvm::LogicalResult beginKernel();
  void beginRow(Value row);
  // Points of the row from `column` on.
  void emitVector(Value column, const Lanes &lanes);

  const PointwiseLoops &getLoops() const { return loops; }
  const UnitSplit &getSplit() const { return split; }
  bool draws();              // random numbers
  bool isContiguous() const; // whether lanes are neighbours in memory, or read one element
  // Whether buffer `i` is read or written lane by lane.
  bool movesWithColumns(unsigned i) const { return levelOfBuffer(i) == Level::Vector; }
  mlir::Value buffer(unsigned i) const { return buffers[i]; }

private:
  // How often a value changes.
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
  llvm::SmallVector<Value> buffers;     // flat
  llvm::DenseMap<Value, Level> levels;  // of values in the body
  llvm::DenseMap<Value, Value> scalars; // what stands for them where they do not change
  llvm::SmallVector<Value> rowIndices,
      bases; // of the current row: index per loop, first element per buffer
};

} // namespace dtc

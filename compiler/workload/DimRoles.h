// Which dims of a partitioned program's values are batch, sequence, experts and expert capacity.
#pragma once

#include "compiler/workload/Cells.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// ScaleBits of every dim of every value, spread from the inputs of `function` ([batch, sequence...]
// where dim 1 is graph.sequence_length, else [batch, ...]) through the rules of the ops, into the
// blocks it calls and back.
class DimRoles {
public:
  DimRoles(mlir::ModuleOp module, llvm::StringRef function);

  // One entry per dim.
  llvm::ArrayRef<uint8_t> of(mlir::Value value) const;
  // The bits of all dims together.
  uint8_t bitsOf(mlir::Value value) const;
  // One entry per loop of `rule`, which is that of `op`: what its dims say, and the op itself.
  llvm::SmallVector<uint8_t, 8> ofLoops(mlir::Operation *op, const graph::OpRule &rule) const;

private:
  void visit(graph::FuncOp func);
  void visit(mlir::Operation &op);
  void visitCall(graph::BlockCallOpInterface call);
  // Whether that says more than was known.
  bool add(mlir::Value value, llvm::ArrayRef<uint8_t> bits);

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<uint8_t, 4>> roles;
};

} // namespace dtc

// The values of a micro-batch that are addends of its returned sums.
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace dtc {

// Splits the sums that a micro-batch returns into addends. A returned value is one addend of its
// sum over micro-batches. If a kernel only adds values together and its result has no other reader,
// each of its inputs is an addend of its own: their producers can often add by themselves, and none
// of them has to wait for the others. Example: the gradient of a tied embedding,
// add(embedding_grad, linear_weight_grad), has two addends.
class Addends {
public:
  explicit Addends(graph::FuncOp function);

  // Returns the results of the function of which `value` is an addend, with repetition.
  llvm::ArrayRef<unsigned> getResults(mlir::Value value) const;
  // True if the op is a call that is dropped, because its inputs are addends themselves.
  bool isAbsorbed(mlir::Operation *op) const { return absorbed.contains(op); }

private:
  void expand(mlir::Value value, unsigned result);

  mlir::SymbolTable symbols; // of the module of the function
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 1>> results;
  llvm::SmallPtrSet<mlir::Operation *, 4> absorbed;
};

} // namespace dtc

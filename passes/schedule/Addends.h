// Which values of a micro-batch add up to what it returns.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace dtc {

// A returned value is one addend of its sum over micro-batches; one that a kernel only adds
// together and nobody else reads is several, which go to the sum one by one: their producers can
// often add by themselves, and none of them has to wait for the others. Example: the gradient of a
// tied embedding, add(embedding_grad, linear_weight_grad), has two.
class Addends {
public:
  explicit Addends(graph::FuncOp function);

  // The results of the function that `value` is an addend of, with repetition.
  llvm::ArrayRef<unsigned> getResults(mlir::Value value) const;
  // Whether the op is a call whose adding is left to the sums.
  bool isAbsorbed(mlir::Operation *op) const { return absorbed.contains(op); }

private:
  void expand(mlir::Value value, unsigned result);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 1>> results;
  llvm::SmallPtrSet<mlir::Operation *, 4> absorbed;
};

} // namespace dtc

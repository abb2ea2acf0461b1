// The epilogue of a matrix product: ops that a library does to its result before it writes it.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace dtc::graph {

// A matrix product that may have an epilogue, by its sizes on one rank.
struct EpilogueProduct {
  int64_t columns = 1; // elements of a row of the result
  // Elements from one row to the next of both operands and of the result.
  llvm::SmallVector<int64_t, 3> strides;
};

// Returns the product that an op computes; nullopt if the op is none, or several products at once,
// or the gradient of a weight: gradients are added up over micro-batches where they are.
std::optional<EpilogueProduct> productOf(mlir::Operation *op);

// Returns true if all strides, and `columns`, have whole vectors. cuBLASLt moves 16 bytes at a time
// if it does more than multiply and add a matrix.
bool hasVectorRows(int64_t columns, llvm::ArrayRef<int64_t> strides);

// An epilogue, by the values that it reads and makes.
//
// Example: in `%0 = graph.add %product, %b; %1 = graph.gelu tanh %0`, with %0 and %1 read by
// others, `bias` is %b, `sum` %0 and `result` %1.
struct Epilogue {
  mlir::Value bias, addend; // addends: a row that is added to each row, a whole tensor
  mlir::Value geluOf;       // the tensor at which the derivative of GELU is taken, as a factor
  bool gelu = false;        // applies GELU to the sum
  mlir::Value sum;          // the product and its addends; null with `geluOf`
  mlir::Value result;       // the result after GELU or its derivative; null if there is neither
  llvm::SmallVector<mlir::Operation *, 4> ops; // that compute it, in order

  // Returns the result that every epilogue has.
  mlir::Value main() const { return result ? result : sum; }
  // Returns true if the product has to be one in 16 bits, with hasVectorRows(): so cuBLASLt is
  // documented for biases, GELU and its derivative. A whole tensor is the c of any product.
  bool isOfLibrary() const { return bias || geluOf; }
};

// Returns the epilogue that the ops of a kernel apply to its operand `product`, rows of `columns`
// elements; nullopt if the kernel computes anything else. It only adds a bias or a tensor, applies
// GELU by tanh to the sum with a bias, or multiplies by the derivative of that GELU.
//
// Its caller knows the rest: that no other op reads the product, that the kernel makes no partial
// sums, and where the bias lies.
std::optional<Epilogue> readEpilogue(mlir::Value product, int64_t columns,
                                     llvm::ArrayRef<mlir::Operation *> kernel);

} // namespace dtc::graph

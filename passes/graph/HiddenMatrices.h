// The parameters that are matrices inside of a model.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringMap.h"

namespace dtc {

// A parameter [matrices..., rows..., columns...] by which activations are multiplied.
struct HiddenMatrix {
  int64_t batch = 0;   // dims that count matrices: 1 for experts, which have one each
  int64_t rowDims = 1; // dims that make up the rows
  bool rowsAreOutputs =
      true; // the rows are what comes out of the product, the columns what goes in

  // Returns the number of matrices, of rows and of columns of a parameter of that shape.
  int64_t matrices(llvm::ArrayRef<int64_t> shape) const;
  int64_t rows(llvm::ArrayRef<int64_t> shape) const;
  int64_t columns(llvm::ArrayRef<int64_t> shape) const;
};

// Returns the hidden matrices of a model by the names of their parameters: those that the model
// reads as the weights of products and for nothing else. An embedding is none, nor is the weight of
// an output layer, from which the loss is computed without a further product, attention or
// normalisation, nor a matrix of one row or column. Reads '@microbatch', or '@loss' where there is
// none yet.
llvm::StringMap<HiddenMatrix> hiddenMatricesOf(mlir::ModuleOp module);

} // namespace dtc

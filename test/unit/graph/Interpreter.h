// Runs graph ops on small tensors in double precision, by their definitions. Gradients and scalar
// bodies are tested against this reference.
#pragma once

#include "dialects/graph/GatherOps.h"
#include <vector>

namespace dtc::graph {

// A tensor in row-major order. Integers are stored as doubles.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> data;

  // Returns a tensor of this type filled with zeros.
  static Tensor zeros(mlir::Type type);
  // Returns the size of a dim; -1 is the last dim.
  int64_t dim(int64_t i) const { return shape[i < 0 ? i + static_cast<int64_t>(shape.size()) : i]; }
  // Returns the product of the dims in [begin, end). A negative end counts from the back, and -1 is
  // the last dim.
  int64_t count(int64_t begin, int64_t end) const;
};

// Values by SSA value.
using Values = llvm::DenseMap<mlir::Value, Tensor>;
// Runs one op and adds its results to `values`. Fails the current test for an unknown op.
void interpret(mlir::Operation *op, Values &values);

// Runs the body of a pointwise op for every point of its result.
void interpretPoints(PointwiseOpInterface op, Values &values);

// Runs an op of a mixture of experts. Returns false for any other op.
bool interpretMoe(mlir::Operation *op, Values &values);

// Runs an op of a mixture of experts without drops. Returns false for any other op.
bool interpretRoute(mlir::Operation *op, Values &values);

// Runs convolution, pooling or a gradient of these. Returns false for any other op.
bool interpretImage(mlir::Operation *op, Values &values);

// Runs batch norm, or a sum that ranks finish. Returns false for any other op.
bool interpretState(mlir::Operation *op, Values &values);

// One number of a scalar body: a float, an integer (its bits, zero-extended) or an index.
struct Scalar {
  double number = 0;
  uint64_t bits = 0;
};
// Runs a scalar body with these arguments and returns its results.
llvm::SmallVector<Scalar> interpretBody(mlir::Block &body, llvm::ArrayRef<Scalar> arguments,
                                        mlir::ValueRange results);

} // namespace dtc::graph

// Runs graph ops on small tensors in double precision, from their definitions: the reference that
// gradients and scalar bodies are tested against.
#pragma once

#include "dialects/graph/Graph.h"
#include <vector>

namespace dtc::graph {

// Row-major; integers are stored as doubles.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> data;

  static Tensor zeros(mlir::Type type);
  int64_t dim(int64_t i) const { return shape[i < 0 ? i + static_cast<int64_t>(shape.size()) : i]; }
  // The product of the dims in [begin, end); end counts from the back when negative, -1 being the
  // last dim.
  int64_t count(int64_t begin, int64_t end) const;
};

// Values by SSA value. Fails the current test on an op that it does not know.
using Values = llvm::DenseMap<mlir::Value, Tensor>;
void interpret(mlir::Operation *op, Values &values);

// The body of a pointwise op, run for every point of its result.
void interpretPoints(PointwiseOpInterface op, Values &values);

// An op of a mixture of experts; false for any other.
bool interpretMoe(mlir::Operation *op, Values &values);

// Convolution, pooling or a gradient of these; false for any other.
bool interpretImage(mlir::Operation *op, Values &values);

// One number of the scalar body: a float, an integer (its bits, zero-extended) or an index.
struct Scalar {
  double number = 0;
  uint64_t bits = 0;
};
llvm::SmallVector<Scalar> interpretBody(mlir::Block &body, llvm::ArrayRef<Scalar> arguments,
                                        mlir::ValueRange results);

} // namespace dtc::graph

// Reverse-mode differentiation of a straight list of graph ops.
#pragma once

#include "dialects/graph/Graph.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace dtc {

// Walks ops backward and adds up the gradients of each value. Calls and repeats are left to
// `callGradient`, which gets the gradients of the results (null if a result has none) and fills
// those of the operands that need one.
class ReverseMode {
public:
  using CallGradient = std::function<llvm::LogicalResult(
      graph::BlockCallOpInterface, mlir::ValueRange, llvm::SmallVectorImpl<mlir::Value> &)>;

  explicit ReverseMode(mlir::OpBuilder &builder, CallGradient callGradient)
      : builder(builder), callGradient(std::move(callGradient)) {}

  // Marks a value whose gradient is wanted; must be called before `markActive`.
  void want(mlir::Value value) { active.insert(value); }
  // Finds the values of `ops` through which wanted values reach results.
  void markActive(llvm::ArrayRef<mlir::Operation *> ops);
  // True if the value depends on a wanted one.
  bool isActive(mlir::Value value) const { return active.contains(value); }

  // Sets the gradient of `value`, a tensor from which the walk starts.
  void seed(mlir::Value value, mlir::Value gradient) { (void)accumulate(value, gradient); }
  // Builds the gradients at the builder's insertion point, each in the chunk of its op
  // (graph.chunk), and of a later round if that is (graph.later_round). Fails after a diagnostic at
  // an op that has no gradient.
  llvm::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);
  // Returns the gradient of a value; null if it has none.
  mlir::Value gradientOf(mlir::Value value) const { return gradients.lookup(value); }

private:
  llvm::LogicalResult accumulate(mlir::Value value, mlir::Value gradient);

  mlir::OpBuilder &builder;
  CallGradient callGradient;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  llvm::DenseSet<mlir::Value> ofLaterRounds; // gradients that are sums of those alone
};

} // namespace dtc

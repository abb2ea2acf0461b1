// Rewrites ops of a rank's program so that they work on one chunk of the tokens after another.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>

namespace dtc {

// Ops of one block that compute tokens independently of each other, such as an output layer with
// its loss. Copies of them compute equal chunks of the tokens, chunk by chunk. A result without
// tokens, such as the gradient of a weight, is the sum over the chunks.
class TokenChunks {
public:
  // `together` are in the order of their block. No value goes from one of them to another through
  // an op outside.
  explicit TokenChunks(llvm::ArrayRef<mlir::Operation *> together)
      : ops(together.begin(), together.end()) {}

  // Finds the dim of every tensor that has the tokens along `dim` of `value`, which one of the ops
  // makes or reads. Returns the reason if the ops can't compute `chunks` equal parts of it by
  // themselves; "" otherwise.
  std::string follow(mlir::Value value, int64_t dim, int64_t chunks);

  // Replaces the ops by copies for each chunk, as found by the last call of follow(), which
  // returned "". Each copy gets `mark`, an attribute with the number of its chunk. Ops that make
  // operands are moved in front.
  void replace(llvm::StringRef mark);

private:
  // The dims of an op's operands and results that have the tokens; -1: none.
  struct Dims {
    llvm::SmallVector<int64_t, 4> operands, results;
  };

  std::string followOp(mlir::Operation *op, mlir::Value known, int64_t dim);
  std::string note(mlir::Value value, int64_t dim);
  mlir::Value slice(mlir::OpBuilder &builder, mlir::OpOperand &use, int64_t dim, int64_t chunk);
  void moveOperandsInFront();

  llvm::SetVector<mlir::Operation *> ops;
  int64_t chunks = 1;
  llvm::DenseMap<mlir::Operation *, Dims> dims;
  llvm::DenseMap<mlir::Value, int64_t> dimOf; // of results of the ops
  llvm::SmallVector<mlir::Value> left;        // results whose makers and readers are to be followed
  // per value and dim that the current chunk reads, its slice
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> slices;
};

} // namespace dtc

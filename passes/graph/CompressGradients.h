// Builds the exchange of compressed gradients: the ops by which ranks of data parallelism sum their
// addends of a matrix, and keep what was not sent for the next step. docs/slow-links.md has the
// formulas.
#pragma once

#include "dialects/graph/Compression.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace dtc {

// A state of a compressed gradient.
struct CompressionState {
  llvm::StringRef suffix; // behind the parameter's name
  mlir::RankedTensorType type;
  bool isByRank = false; // has the ranks as its first dim; else all have the same
  bool isRandom = false; // starts with normal random numbers; else with zeros
};

// The sum of one gradient.
class GradientExchange {
public:
  GradientExchange(Compression method, int64_t ranks, mlir::RankedTensorType gradient)
      : method(method), ranks(ranks), gradient(gradient) {}

  // Returns true if the gradient is compressed.
  bool isCompressed() const;
  // Returns the largest rank of PowerSGD that compresses it; 0 if there is none.
  int64_t mostRank() const;
  // Returns the states, whatever the step does.
  llvm::SmallVector<CompressionState> states() const;

  // What one exchange makes.
  struct Made {
    mlir::Value sum;                        // in place of the gradient
    llvm::SmallVector<mlir::Value> carried; // all states but the error
  };
  // Builds the exchange of the unfinished sum `of` with `states` as they are before.
  Made exchange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value of,
                mlir::ValueRange states) const;
  // Returns the error after the exchange.
  mlir::Value error(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value of, mlir::Value sum,
                    mlir::Value errorBefore) const;

private:
  // The first dims are rows of a matrix and all others columns, so that it is as square as
  // possible: heads are on one side, and experts beside rows.
  int64_t rows() const;
  int64_t columns() const { return gradient.getNumElements() / rows(); }

  Compression method;
  int64_t ranks;
  mlir::RankedTensorType gradient;
};

} // namespace dtc

// Helpers of the verifiers: compare shapes dim by dim and report the wrong dim.
#pragma once

#include "dialects/graph/Graph.h"
#include <string>

namespace dtc::graph {

// Returns a size as a type shows it: '?' if it is dynamic.
std::string sizeText(int64_t size);

// Returns a number as people write it: 0.5, 1e-08.
std::string numberText(double value);

// The dims that an operand or result must have, each with the origin of its size.
class DimList {
public:
  // Adds dims [begin, end) of `type`, which messages call `name`.
  DimList &dims(llvm::StringRef name, mlir::RankedTensorType type, int64_t begin, int64_t end);
  // Adds all dims of `type`.
  DimList &all(llvm::StringRef name, mlir::RankedTensorType type) {
    return dims(name, type, 0, type.getRank());
  }
  // Adds one dim of a size that `origin` explains, such as "half of dim 3 of 'x'".
  DimList &size(int64_t size, const llvm::Twine &origin);

  // Fails with a diagnostic at `op` unless `type` has exactly these dims.
  // Example: "dim 1 of 'weight' is 16, but dim 2 of 'x' is 32".
  llvm::LogicalResult check(mlir::Operation *op, llvm::StringRef name,
                            mlir::RankedTensorType type) const;

private:
  struct Entry {
    int64_t size;
    std::string origin;
  };
  llvm::SmallVector<Entry, 6> entries;
};

// Fails unless `type` has exactly `wanted` dims.
llvm::LogicalResult checkNumDims(mlir::Operation *op, llvm::StringRef name,
                                 mlir::RankedTensorType type, int64_t wanted);
// Fails unless `type` has at least `wanted` dims.
llvm::LogicalResult checkAtLeastDims(mlir::Operation *op, llvm::StringRef name,
                                     mlir::RankedTensorType type, int64_t wanted);

// Fails unless both element types are equal.
llvm::LogicalResult checkSameElement(mlir::Operation *op, llvm::StringRef name, mlir::Type type,
                                     llvm::StringRef otherName, mlir::Type other);

// Fails unless the element type is f32 (statistics and losses keep full precision).
llvm::LogicalResult checkF32(mlir::Operation *op, llvm::StringRef name, mlir::Type type);

// Fails unless the element type is that of the input or f32 (what a matrix product adds up in).
llvm::LogicalResult checkProductElement(mlir::Operation *op, mlir::Type result,
                                        llvm::StringRef inputName, mlir::Type input);

// Fails unless every entry of `windows` is a #graph.window of a loop in the rule's indexedLoops.
// Call it after the shapes were checked: it asks the op for its rule.
llvm::LogicalResult checkWindows(mlir::Operation *op, std::optional<mlir::ArrayAttr> windows);

// Checks that `padding`, if present, is a row of a table. The whole table has as many rows as
// `windows` give, or `rows` without them.
llvm::LogicalResult checkPadding(mlir::Operation *op, std::optional<int64_t> padding,
                                 std::optional<mlir::ArrayAttr> windows, int64_t rows);

// Fails unless `dim` is one of the dims of `type` and its size is static.
llvm::LogicalResult checkOneDim(mlir::Operation *op, llvm::StringRef name,
                                mlir::RankedTensorType type, int64_t dim);

// Fails unless the dims are sorted, different and inside [0, numDims).
llvm::LogicalResult checkDimSet(mlir::Operation *op, llvm::StringRef name,
                                llvm::ArrayRef<int64_t> dims, int64_t numDims);

// Fails unless low <= value <= high (both finite bounds are part of the range).
llvm::LogicalResult checkRange(mlir::Operation *op, llvm::StringRef name, double value, double low,
                               double high);

// Fails unless `ignoring`, an index that targets leave out, is a value of their element type.
llvm::LogicalResult checkIgnoring(mlir::Operation *op, std::optional<int64_t> ignoring,
                                  mlir::RankedTensorType targets);

// Fails unless stream, seed and step of a random op are all present, or none is (its short form).
llvm::LogicalResult checkKey(mlir::Operation *op, bool hasStream, mlir::Value seed,
                             mlir::Value step);

// Returns the shape of operands broadcast together as in NumPy; fails with a diagnostic if sizes do
// not match.
llvm::FailureOr<llvm::SmallVector<int64_t>> broadcastShapes(mlir::Operation *op);

// Returns the type of a value that is a ranked tensor.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

} // namespace dtc::graph

// Determines which dims of a partitioned program's values are batch, sequence, channels, vocabulary
// entries, experts and expert capacity.
#pragma once

#include "compiler/price/workload/Cells.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// ScaleBits of every dim of every value, in `function` and the blocks it calls. Dim 0 of each input
// is the batch; everything else is what the rules of ops say of their loops, spread over the dims
// that have these loops:
// - batch, experts and capacity from operands to results;
// - words (rows of an embedding, logits), sequence and channels both ways: tokens[batch, time] are
//   a sequence because attention says so of what is made of them many ops later. Where a reshape
//   joins dims, what the joined one is goes back to none of them. What a block is called with is
//   one thing in all of its calls.
class DimRoles {
public:
  // Roles beside ScaleBits, with which nothing scales: channels, and the rows of samples that a
  // reshape has merged with another dim, tensor<4x8x16xf32> into tensor<32x16xf32>.
  static constexpr uint8_t kChannels = 32, kMerged = 64;

  DimRoles(mlir::ModuleOp module, llvm::StringRef function);

  // One entry per dim: ScaleBits, kChannels and kMerged.
  llvm::ArrayRef<uint8_t> of(mlir::Value value) const;
  // The ScaleBits of all dims together.
  uint8_t bitsOf(mlir::Value value) const;
  // The ScaleBits of each loop of `rule`, which is that of `op`.
  llvm::SmallVector<uint8_t, 8> ofLoops(mlir::Operation *op, const graph::OpRule &rule) const;
  // Returns true if the loop is over rows of samples that a reshape has merged with another dim.
  // Only data parallelism splits these, as other axes would take rows from the ranks that have the
  // samples.
  bool isMerged(mlir::Operation *op, const graph::OpRule &rule, unsigned loop) const {
    return rolesOfLoops(op, rule)[loop] & kMerged;
  }

private:
  void visit(graph::FuncOp func, bool isReversed);
  void visit(mlir::Operation &op, bool isReversed);
  void visitCall(graph::BlockCallOpInterface call, bool isReversed);
  void visitRule(mlir::Operation *op, const graph::OpRule &rule);
  llvm::SmallVector<uint8_t, 8> rolesOfLoops(mlir::Operation *op, const graph::OpRule &rule) const;
  // `to` becomes all that `from` is; and `from` what spreads both ways.
  void follow(mlir::Value from, mlir::Value to);
  void add(mlir::Value value, llvm::ArrayRef<uint8_t> bits);

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<uint8_t, 4>> roles;
  bool isNew = false; // true if roles were added since the last pass
};

} // namespace dtc

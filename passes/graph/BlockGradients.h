// Differentiates each block once, into a forward and a backward function.
#pragma once

#include "passes/graph/ReverseMode.h"

#include <map>
#include <string>
#include <vector>

namespace dtc {

// What a call of a block becomes. `saved` tells where the leading arguments of `backward` come
// from; the gradients of all float results follow them. `backward` returns the gradients of the
// arguments that are needed, in order.
struct BlockGradient {
  struct Saved {
    bool isArgument; // argument `index` of the block, else result `index` of `forward`
    unsigned index;
  };
  graph::FuncOp forward;
  graph::FuncOp backward;
  std::vector<Saved> saved;
  std::vector<unsigned> gradientResults; // results of the block whose gradients `backward` takes
};

// Differentiates blocks on demand; blocks may call blocks.
class BlockGradients {
public:
  explicit BlockGradients(mlir::ModuleOp module) : module(module) {}

  // The gradient of `callee` with respect to the arguments in `needed`. Fails after a diagnostic.
  llvm::FailureOr<BlockGradient> get(graph::FuncOp callee, llvm::ArrayRef<bool> needed);

  // Replaces every active call among `ops` by one of its forward function, and updates `ops`.
  llvm::LogicalResult replaceCalls(llvm::SmallVectorImpl<mlir::Operation *> &ops,
                                   const ReverseMode &reverse);

  // Builds the call of the backward function for a call that replaceCalls made.
  llvm::LogicalResult callBackward(mlir::OpBuilder &builder, graph::CallOp forwardCall,
                                   mlir::ValueRange resultGradients, llvm::ArrayRef<bool> needed,
                                   llvm::SmallVectorImpl<mlir::Value> &operandGradients);

private:
  llvm::FailureOr<BlockGradient> build(graph::FuncOp callee, llvm::ArrayRef<bool> needed,
                                       const std::string &suffix);

  mlir::ModuleOp module;
  std::map<std::pair<std::string, std::vector<bool>>, BlockGradient> done;
  std::map<std::string, unsigned> variants;
  llvm::DenseMap<mlir::Operation *, BlockGradient> forwardCalls;
};

} // namespace dtc

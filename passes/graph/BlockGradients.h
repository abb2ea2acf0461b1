// Differentiates each block once, into a forward and a backward function.
#pragma once

#include "passes/graph/ReverseMode.h"

#include <map>
#include <string>
#include <vector>

namespace dtc {

// How a block is used: by a call, or by a repeat, which hands on what it carries.
struct BlockUse {
  std::vector<bool> needed; // of each argument: whether its gradient is wanted
  bool isRepeated = false;
  int64_t numCarried = 0;         // of a repeat
  std::vector<bool> isSameForAll; // of each argument of a repeat: neither carried nor from a stack

  auto key() const { return std::tie(needed, isRepeated, numCarried, isSameForAll); }
};

// What a call or repeat of a block becomes. The forward function also returns what the backward
// function reads and the call does not have: a repeat has of what it carries only the last, so all
// it needs of that is returned once more, for a stack.
//
// The backward function of a call takes what is `saved`, then the gradients of `gradientResults`,
// and returns the gradients of the arguments that are needed. That of a repeat starts with what it
// carries itself, from the last execution to the first: the gradients of what the block carries,
// then sums of the gradients of what is the same for all executions; then it takes what is `saved`,
// and after what it carries it returns the gradients of stacks' entries.
struct BlockGradient {
  struct Saved {
    bool isArgument; // argument `index` of the block, else result `index` of `forward`
    unsigned index;
  };
  graph::FuncOp forward;
  graph::FuncOp backward;
  std::vector<Saved> saved;
  std::vector<unsigned> gradientResults; // results of the block whose gradients `backward` takes
  std::vector<unsigned> summed; // arguments whose gradients a repeat adds up over all executions
  std::vector<int> gradientOf;  // result of `backward` for each argument; -1: none
};

// Differentiates blocks on demand; blocks may call blocks.
class BlockGradients {
public:
  explicit BlockGradients(mlir::ModuleOp module) : module(module) {}

  // Replaces every active call and repeat among `ops` by one of its forward function, and updates
  // `ops`.
  llvm::LogicalResult replaceCalls(llvm::SmallVectorImpl<mlir::Operation *> &ops,
                                   const ReverseMode &reverse);

  // Builds the call or repeat of the backward function for one that replaceCalls made.
  llvm::LogicalResult callBackward(mlir::OpBuilder &builder,
                                   graph::BlockCallOpInterface forwardCall,
                                   mlir::ValueRange resultGradients,
                                   llvm::SmallVectorImpl<mlir::Value> &operandGradients);

private:
  llvm::FailureOr<BlockGradient> get(graph::FuncOp callee, const BlockUse &use);
  llvm::FailureOr<BlockGradient> build(graph::FuncOp callee, const BlockUse &use,
                                       const std::string &suffix);

  struct Known {
    BlockUse use;
    BlockGradient gradient;
  };
  mlir::ModuleOp module;
  std::map<std::string, std::vector<Known>> done; // by block
  llvm::DenseMap<mlir::Operation *, BlockGradient> forwardCalls;
};

} // namespace dtc

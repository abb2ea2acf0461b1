// Differentiates each block once, into a forward and a backward function.
#pragma once

#include "passes/graph/ReverseMode.h"

#include <map>
#include <string>
#include <vector>

namespace dtc {

// The way a block is used: by a call, or by a repeat, which passes carried values from one
// execution to the next.
struct BlockUse {
  std::vector<bool> needed; // per argument: its gradient is needed
  bool isRepeated = false;
  int64_t numCarried = 0; // carried arguments of a repeat
  // per argument of a repeat: neither carried nor an entry of a stack
  std::vector<bool> isSameForAll;

  // Returns the fields to compare uses by.
  auto key() const { return std::tie(needed, isRepeated, numCarried, isSameForAll); }
};

// The forward and backward functions that replace a call or repeat of a block. The forward function
// also returns the values that the backward function reads and the caller does not have. A repeat
// only has the last of its carried values, so all carried values that the backward function needs
// are returned once more, for a stack.
//
// The backward function of a call takes the `saved` values, then the gradients of
// `gradientResults`, and returns the gradients of the needed arguments. The backward function of a
// repeat runs from the last execution to the first and first takes its carried values: the
// gradients of the block's carried values, then sums of the gradients of arguments that are the
// same for all executions. Then it takes the `saved` values. It returns its carried values, then
// the gradients of stack entries.
struct BlockGradient {
  // A value that the backward function takes.
  struct Saved {
    bool isArgument; // it is argument `index` of the block, else result `index` of `forward`
    unsigned index;
  };
  graph::FuncOp forward;
  graph::FuncOp backward;
  std::vector<Saved> saved;
  std::vector<unsigned> gradientResults; // results of the block whose gradients `backward` takes
  std::vector<unsigned> summed; // arguments whose gradients a repeat adds up over all executions
  // per argument, the result of `backward` that is its gradient; -1: none
  std::vector<int> gradientOf;
};

// Differentiates blocks on demand; blocks may call blocks.
class BlockGradients {
public:
  explicit BlockGradients(mlir::ModuleOp module) : module(module) {}

  // Replaces every active call and repeat among `ops` by one of its forward function, and updates
  // `ops`. Fails after a diagnostic if a block has an op without a gradient.
  llvm::LogicalResult replaceCalls(llvm::SmallVectorImpl<mlir::Operation *> &ops,
                                   const ReverseMode &reverse);

  // Builds the call or repeat of the backward function for one that replaceCalls made.
  // `resultGradients` may hold nulls; `operandGradients` gets one entry per operand.
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
  std::map<std::string, std::vector<Known>> done; // keyed by block
  llvm::DenseMap<mlir::Operation *, BlockGradient> forwardCalls;
};

} // namespace dtc

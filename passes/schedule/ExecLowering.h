// Turns the partitioned step of a module into one exec.program.
#pragma once

#include "passes/schedule/ExecEmitter.h"

namespace dtc {

// Steps:
// 1. The mesh and every parameter and state are declared, with the bytes that a rank holds.
// 2. @microbatch is unrolled: copy m reads view m of the step's tokens and targets, and its random
//    ops are those of samples from m * global micro-batch on (kernels with random ops get a copy of
//    their own).
// 3. Gradients and other sums (the loss) are added up over micro-batches in one buffer each: the
//    first addend is copied, the later ones are added (Addends).
// 4. @update follows; its arguments are those buffers, by parameter (graph.gradient_of) or by name
//    (graph.accumulated).
// 5. New values of parameters and state are copied to their place last, as every read means the old
//    value.
// No two values share memory but reshapes and contiguous slices; the copies are for
// dtc-reuse-buffers to remove.
//
// Emits a diagnostic and fails where the module lacks @microbatch or @update, or an op has no
// lowering.
class ExecLowering {
public:
  explicit ExecLowering(mlir::ModuleOp module);
  llvm::LogicalResult run();

private:
  llvm::LogicalResult findFunctions();
  llvm::LogicalResult createProgram();
  llvm::LogicalResult declareTensors();
  template <typename Op>
  llvm::LogicalResult declareTensor(Op op, mlir::RankedTensorType type,
                                    llvm::ArrayRef<int64_t> stored, exec::BufferKind kind);
  llvm::LogicalResult declareInputs();
  llvm::LogicalResult declareSums();
  llvm::LogicalResult lowerMicroBatch(int64_t index);
  llvm::LogicalResult lowerUpdate();
  llvm::LogicalResult lowerOp(mlir::Operation &op);
  graph::FuncOp functionOf(int64_t microBatch);
  void makeRandomOpsOf(graph::FuncOp function, int64_t microBatch);
  void markActivations(graph::FuncOp function);
  void eraseUnusedKernels();

  // How a placement splits a tensor that is the same on the ranks that it does not split.
  llvm::FailureOr<exec::Splits> splitsOf(mlir::Operation *op, llvm::StringRef name, int64_t numDims,
                                         graph::PlacementAttr placement);

  mlir::ModuleOp module;
  graph::FuncOp microBatch, update;
  llvm::SmallVector<graph::FuncOp> copies; // of @microbatch, for later micro-batches
  int64_t numMicroBatches = 1;
  int64_t globalMicroBatch = 0; // samples, over all ranks
  std::optional<ExecEmitter> emitter;
  llvm::SmallVector<mlir::Value> inputs;  // per argument of @microbatch: all micro-batches
  llvm::SmallVector<mlir::Value> sums;    // per result of @microbatch
  llvm::StringMap<mlir::Value> gradients; // by parameter
  llvm::StringMap<mlir::Value> otherSums; // by name: the loss
};

} // namespace dtc

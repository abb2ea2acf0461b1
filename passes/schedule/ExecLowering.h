// Turns the partitioned step of a module into one exec.program.
#pragma once

#include "passes/schedule/Addends.h"
#include "passes/schedule/ExecEmitter.h"
#include "passes/schedule/StepTasks.h"

namespace dtc {

struct ExecLoweringOptions {
  int64_t slots = 1;          // micro-batches under way at once, at most, without a pipeline
  bool splitBackward = false; // weight gradients in a task of their own
};

// Steps:
// 1. The mesh and every parameter and state are declared, with the bytes that a rank holds.
//    @prepare, where there is one, becomes the first task of a step, which reads the inputs of all
//    micro-batches and leaves what it sets at once.
// 2. @microbatch becomes the tasks of a micro-batch (StepTasks), each lowered once: inputs are views
//    that move on by micro-batch, and so do the random keys of kernels and attention.
// 3. Gradients and other sums (the loss) are added up over micro-batches in one buffer each: the
//    first addend starts the sum in the first run of its task (Addends).
// 4. @update becomes the tasks of a step; its arguments are those buffers, by parameter
//    (graph.gradient_of) or by name (graph.accumulated).
// 5. Which buffers hold gradients is declared, for an entry that ends with them.
// 6. New values of parameters and state are copied to their place last, as every read means the old
//    value.
// 7. The entries say the order: `slots` micro-batches at a time go through each task of a
//    micro-batch one after another, then the step's tasks. That of a pipeline's stage is given
//    (StageOrder); what the stages send each other stands right before or behind the task that needs
//    or makes it, in buffers with slots (placeTransfers).
// No two values share memory but reshapes and contiguous slices; the copies are for
// dtc-reuse-buffers to remove.
//
// Emits a diagnostic and fails where the module lacks @microbatch or @update, or an op has no
// lowering.
class ExecLowering {
public:
  ExecLowering(mlir::ModuleOp module, const ExecLoweringOptions &options);
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
  llvm::LogicalResult lowerPrepare();
  llvm::LogicalResult lowerMicroBatch(const StepTasks &tasks, const Addends &addends);
  llvm::LogicalResult bindUpdateArguments();
  llvm::LogicalResult declareOutputs();
  llvm::LogicalResult declareGradients();
  llvm::LogicalResult lowerUpdate(const StepTasks &tasks);
  llvm::LogicalResult lowerTask(const StepTask &task, bool perMicroBatch, const Addends *addends);
  llvm::LogicalResult lowerOp(mlir::Operation &op);
  void addUp(mlir::Value value, const Addends &addends);
  void reportOutput(mlir::Value value);
  void placeTransfers();
  void addEntries(const StepTasks &tasks);
  void addStageEntries(const StepTasks &tasks);
  void eraseUnusedKernels();

  // How a placement splits a tensor that is the same on the ranks that it does not split.
  llvm::FailureOr<exec::Splits> splitsOf(mlir::Operation *op, llvm::StringRef name, int64_t numDims,
                                         graph::PlacementAttr placement);

  mlir::ModuleOp module;
  ExecLoweringOptions options;
  graph::FuncOp microBatch, update;
  graph::FuncOp prepare; // null where nothing is known before the micro-batches
  int64_t numMicroBatches = 1;
  std::optional<StageOrder> stage; // of a pipeline
  std::optional<ExecEmitter> emitter;
  llvm::SmallVector<mlir::Value> inputs;  // per argument of @microbatch: all micro-batches
  llvm::SmallVector<mlir::Value> sums;    // per result of @microbatch
  llvm::SmallVector<bool> started;        // per sum: whether an addend was added
  llvm::StringMap<mlir::Value> gradients; // by parameter
  llvm::StringMap<mlir::Value> otherSums; // by name: the loss
  // Outputs of the step by the value of @update that they report.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> outputs;
};

} // namespace dtc

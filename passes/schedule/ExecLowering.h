// Turns the partitioned step of a module into one exec.program.
#pragma once

#include "passes/schedule/Addends.h"
#include "passes/schedule/ExecEmitter.h"
#include "passes/schedule/StepTasks.h"

namespace dtc {

// Options of the lowering.
struct ExecLoweringOptions {
  int64_t slots = 1;          // most micro-batches in flight at once, without a pipeline
  bool splitBackward = false; // puts weight gradients in a task of their own
};

// Lowers a module. Steps:
// 1. The mesh and every parameter and state are declared, with the bytes that a rank holds.
// @prepare, if there is one, becomes the first task of a step, which reads the inputs of all
// micro-batches and sets its states at once.
// 2. @microbatch becomes the tasks of a micro-batch (StepTasks), each lowered once: inputs are
// views that advance with the micro-batch, and so do the random keys of kernels and attention.
// 3. Gradients and other sums (the loss) are added up over micro-batches in one buffer each: the
// first addend starts the sum in the first run of its task (Addends).
// 4. @update becomes the tasks of a step; its arguments are those buffers, by parameter
// (graph.gradient_of) or by name (graph.accumulated).
// 5. The buffers that hold gradients are declared, for an entry that ends with them.
// 6. New values of parameters and states are copied to their buffers last, because every read means
// the old value.
// 7. The entries give the order: `slots` micro-batches at a time go through each task of a
// micro-batch one after another, then the step's tasks. The order of a pipeline stage is given
// (StageOrder); transfers between stages stand right before or after the task that reads or makes
// the tensor, in buffers with slots (placeTransfers).
//
// No two values share memory except reshapes and contiguous slices; dtc-reuse-buffers removes the
// copies.
//
// Fails after a diagnostic if the module lacks @microbatch or @update, or if an op has no lowering.
class ExecLowering {
public:
  ExecLowering(mlir::ModuleOp module, const ExecLoweringOptions &options);
  // Replaces the functions of the module by an exec.program.
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

  // Returns how a placement splits a tensor; ranks along other axes hold the same data.
  llvm::FailureOr<exec::Splits> splitsOf(mlir::Operation *op, llvm::StringRef name, int64_t numDims,
                                         graph::PlacementAttr placement);

  mlir::ModuleOp module;
  ExecLoweringOptions options;
  graph::FuncOp microBatch, update;
  graph::FuncOp prepare; // null if the step has none
  int64_t numMicroBatches = 1;
  std::optional<StageOrder> stage; // set for a pipeline stage
  std::optional<ExecEmitter> emitter;
  // per argument of @microbatch: the buffer of all micro-batches
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> sums;    // per result of @microbatch
  llvm::SmallVector<bool> started;        // per sum: true once an addend was added
  llvm::StringMap<mlir::Value> gradients; // keyed by parameter
  llvm::StringMap<mlir::Value> otherSums; // keyed by name, such as the loss
  // Outputs of the step, with the value of @update that they report.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> outputs;
};

} // namespace dtc

// What the module of a pipeline's stage says of it: what it runs, in which order, on which ranks.
#pragma once

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <vector>

namespace dtc {

// The ranks of a mesh by their coordinate on the pipeline's axis.
class StageRanks {
public:
  // Fails after a diagnostic at `op` where the module's mesh has no such axis.
  static llvm::FailureOr<StageRanks> read(mlir::ModuleOp module, mlir::Operation *op);

  llvm::SmallVector<int64_t> of(int64_t stage) const;
  // A list for each of these ranks: those of all `stages`, in order, with its other coordinates.
  // Example: on a mesh of 2 stages x 2 the stages 0 and 1 have the lists 0, 2 and 1, 3.
  exec::RanksAttr listsOf(llvm::StringRef name, llvm::ArrayRef<int64_t> stages) const;
  int64_t getNumStages() const { return sizes[axis]; }

private:
  mlir::MLIRContext *context = nullptr;
  llvm::SmallVector<int64_t> sizes;
  size_t axis = 0;
};

// The runs of chunks of `graph.order`.
struct StageOrder {
  enum Kind { Forward, Backward, WeightGradients };
  struct Run {
    Kind kind;
    int64_t chunk, microBatch;
  };

  // Nothing for a module that is no stage's. Fails after a diagnostic where the order is missing or
  // not one of `microBatches`.
  static llvm::FailureOr<std::optional<StageOrder>> read(mlir::ModuleOp module,
                                                         int64_t microBatches);

  // Whether gradients of weights have runs of their own.
  bool splitsBackward() const;
  // Micro-batches of a chunk between the start of their forward run and the end of their last one, at
  // most.
  int64_t getInFlight(int64_t chunk) const;
  // The way of micro-batch 0, which is in every chunk.
  std::vector<Run> getWay() const;

  int64_t stage = 0;
  std::vector<Run> runs;
};

} // namespace dtc

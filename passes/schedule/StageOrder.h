// The attributes of a pipeline stage's module: its runs, their order, and its ranks.
#pragma once

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <vector>

namespace dtc {

// The ranks of a mesh, grouped by their coordinate on the pipeline's axis.
class StageRanks {
public:
  // Reads the mesh. Fails after a diagnostic at `op` if the module's mesh has no pipeline axis.
  static llvm::FailureOr<StageRanks> read(mlir::ModuleOp module, mlir::Operation *op);

  // Returns the ranks of a stage, ascending.
  llvm::SmallVector<int64_t> of(int64_t stage) const;
  // Returns one list for each set of other coordinates: the ranks of all `stages` with these
  // coordinates, in order. Example: on a mesh of 2 stages x 2 the stages 0 and 1 have the lists 0,
  // 2 and 1, 3.
  exec::RanksAttr listsOf(llvm::StringRef name, llvm::ArrayRef<int64_t> stages) const;
  // Returns the number of pipeline stages.
  int64_t getNumStages() const { return sizes[axis]; }

private:
  mlir::MLIRContext *context = nullptr;
  llvm::SmallVector<int64_t> sizes;
  size_t axis = 0;
};

// The runs of chunks in `graph.order`.
struct StageOrder {
  // The part of a micro-batch's work that a run does. Receives are of what Forward or Backward of
  // the chunk reads from another stage, sends of what it made for one.
  enum Kind {
    Forward,
    Backward,
    WeightGradients,
    ReceiveForward,
    ReceiveBackward,
    SendForward,
    SendBackward,
  };
  // One run of a chunk for a micro-batch.
  struct Run {
    Kind kind;
    int64_t chunk, microBatch;
    // True if evaluation runs it, too.
    bool isForward() const {
      return kind == Forward || kind == ReceiveForward || kind == SendForward;
    }
  };

  // Reads the order; nullopt for a module that is no stage's. Where the attribute has no transfers,
  // receives are put right before the runs that read them, sends right after those that make them.
  // Fails after a diagnostic if the order is missing, does not have each of `microBatches` once, or
  // has some of the module's transfers and not all.
  static llvm::FailureOr<std::optional<StageOrder>> read(mlir::ModuleOp module,
                                                         int64_t microBatches);

  // True if gradients of weights have separate runs.
  bool splitsBackward() const;
  // Returns the most micro-batches of a chunk between the start of their forward run and the end of
  // their last run.
  int64_t getInFlight(int64_t chunk) const;
  // Returns the runs of micro-batch 0, which passes through every chunk.
  std::vector<Run> getWay() const;

  int64_t stage = 0;
  std::vector<Run> runs;

private:
  void addTransfers();
  llvm::LogicalResult checkTransfers(mlir::ModuleOp module) const;
};

} // namespace dtc

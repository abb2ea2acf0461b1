// Decides along which loops one op is split over the mesh, by the cost of moving its operands
// there.
#pragma once

#include "passes/shard/Mesh.h"

#include <optional>

namespace dtc {

// What is known of an operand before the op is placed.
struct OperandState {
  mlir::RankedTensorType global;
  Placement placement;
  bool weight =
      false; // a parameter, or a view of one: its placement comes from the plan and is not gathered
  bool free = false; // a parameter without a placement yet: takes whatever its first user asks for
};

struct OpDecision {
  llvm::SmallVector<Placement, 4> operands; // where the op needs them
  llvm::SmallVector<Placement, 2> results;
  llvm::SmallVector<int, 3> loops; // per mesh axis: the loop it splits, or -1
  double communicationBytes = 0;   // to bring the operands there
  double cost = 0;                 // communication, unfinished sums and repeated work, in bytes
};

struct PlacementPolicy {
  int dataAxis = -1; // the axis that splits the batch: activations keep it, weights do not get it
  bool sequenceParallel =
      false;           // unfinished sums of activations may be scattered over the sequence (dim 1)
  int weightAxis = -1; // the axis on which an op's kSplitAttr, where it has one, decides
};

// Where the op carries kSplitAttr, that is its choice on the policy's weight axis. Otherwise, per
// mesh axis from the outside in:
// 1. The candidates are the loops along which an operand is split already, "none", "stay partial"
// for ops that commute
//    with sums, the loop that a result's hint names, and, under sequence parallelism, the sequence
//    of a partial operand.
// 2. A weight's split decides at once; so do, on the data axis, any operand's split, and a hint.
// 3. Of the others the cheapest wins: bytes moved, plus what finishing a partial result will move,
// plus repeated work. `hints`: per result, where its user will want it, or nothing. The rule is the
// op's at global shapes.
OpDecision placeOp(mlir::Operation *op, const graph::OpRule &rule,
                   llvm::ArrayRef<OperandState> operands,
                   llvm::ArrayRef<std::optional<Placement>> hints, const Mesh &mesh,
                   const PlacementPolicy &policy);

} // namespace dtc

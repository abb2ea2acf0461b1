// How an op may be split. Internal to this folder.
#pragma once

#include "compiler/placement/HeadOps.h"
#include "compiler/placement/PlacementProblem.h"
#include "compiler/workload/DimRoles.h"

namespace dtc {

// The splits of an op over all axes: what it says itself, or what the plan tells for the axes of
// tensor parallelism, or each loop that is long enough, sums that stay unfinished, and nothing.
//
// Where tensor parallelism has two axes (stepMesh), both split the same loop, but for ops with heads
// (HeadOps): there they choose by themselves.
//
// The data axis has no choice: what is split over samples stays so, and sums over samples stay
// unfinished as long as they can.
class OpChoices {
public:
  // Where a tensor is along an axis on which it has one placement, whatever is chosen.
  using PlacementOn = llvm::function_ref<AxisPlacement(mlir::Value, unsigned axis)>;

  OpChoices(const PlacementProblem &problem, const DimRoles &roles, const HeadOps &heads);

  // Told ops of a function have to be asked for in its order. Fails after a diagnostic where what
  // the op or the plan says is not this op's.
  llvm::FailureOr<std::vector<OpSplit>> of(mlir::Operation *op, const graph::OpRule &rule,
                                           PlacementOn placementOn);
  // Whether there is tensor parallelism, and no choice about it.
  bool isTold() const;
  // Fails after a diagnostic where the plan tells more ops of `func` than were asked for.
  llvm::LogicalResult checkAllTold(graph::FuncOp func) const;

private:
  // Over some axes together; the entries of other axes are "none".
  std::vector<OpSplit> choicesOn(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                                 const graph::OpRule &rule, PlacementOn placementOn) const;
  int follow(unsigned axis, mlir::Operation *op, const graph::OpRule &rule,
             PlacementOn placementOn) const;
  bool isFolded(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                const graph::OpRule &rule) const;
  llvm::SmallVector<unsigned, 8> loopsOn(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                                         const graph::OpRule &rule) const;
  void addHeadChoices(mlir::Operation *op, const graph::OpRule &rule,
                      std::vector<OpSplit> &splits) const;
  llvm::ArrayRef<OpSplits::Op> toldOf(graph::FuncOp func) const;
  llvm::FailureOr<OpSplit> toldChoice(mlir::Operation *op);
  llvm::FailureOr<OpSplit> toldOrFollowed(mlir::Operation *op, const graph::OpRule &rule,
                                          PlacementOn placementOn);

  const Mesh &mesh;
  bool splitsWeights, foldsExperts;
  const OpSplits *told;
  int expertAxis;
  llvm::SmallVector<unsigned, 2> tensorAxes; // outermost first
  const DimRoles &roles;
  const HeadOps &heads;
  std::map<mlir::Operation *, size_t> toldOps; // of functions: ops with a rule so far
};

} // namespace dtc

// Enumerates the ways to split an op. Internal to this folder.
#pragma once

#include "compiler/price/workload/DimRoles.h"
#include "compiler/search/placement/HeadOps.h"
#include "compiler/search/placement/PlacementProblem.h"
#include "compiler/search/placement/TextbookPattern.h"

namespace dtc {

// The splits of an op over all axes: what it says itself, or what the plan tells for the axes of
// tensor parallelism, or each loop that is long enough, sums that stay unfinished, and nothing.
//
// The two axes that tensor parallelism may have (stepMesh) split the same loop, but for ops with
// heads (HeadOps), where each chooses by itself.
//
// The data axis has no choice: what is split over samples stays so, and sums over samples stay
// unfinished as long as they can. Neither has that of experts: there exchanges say what is split,
// and other ops are split as what they read. So are ops on the axis of context parallelism, and
// along the sequence where what they read is not split.
class OpChoices {
public:
  // Returns the placement of a tensor along an axis on which it has only one.
  using PlacementOn = llvm::function_ref<AxisPlacement(mlir::Value, unsigned axis)>;

  OpChoices(const PlacementProblem &problem, const DimRoles &roles, const HeadOps &heads,
            const TextbookPattern &textbook);

  // Told ops of one name have to be asked for in the order of their function. Fails after a
  // diagnostic where what the op or the plan says is not this op's.
  llvm::FailureOr<std::vector<OpSplit>> of(mlir::Operation *op, const graph::OpRule &rule,
                                           PlacementOn placementOn);
  // Returns true if there is tensor parallelism and a plan fixes all splits.
  bool isPlanned() const;
  // Fails after a diagnostic where the plan tells more ops of a name in `func` than were asked for.
  llvm::LogicalResult checkAllPlanned(graph::FuncOp func) const;

private:
  // Over some axes together; the entries of other axes are "none".
  std::vector<OpSplit> choicesOn(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                                 const graph::OpRule &rule, PlacementOn placementOn) const;
  int follow(unsigned axis, mlir::Operation *op, const graph::OpRule &rule,
             PlacementOn placementOn) const;
  int followSequence(unsigned axis, mlir::Operation *op, const graph::OpRule &rule,
                     PlacementOn placementOn) const;
  bool isFolded(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                const graph::OpRule &rule) const;
  llvm::SmallVector<unsigned, 8> loopsOn(llvm::ArrayRef<unsigned> axes, mlir::Operation *op,
                                         const graph::OpRule &rule) const;
  bool mayRepeat(mlir::Operation *op, const graph::OpRule &rule,
                 llvm::ArrayRef<unsigned> loops) const;
  void addHeadChoices(mlir::Operation *op, const graph::OpRule &rule,
                      std::vector<OpSplit> &splits) const;
  llvm::FailureOr<OpSplit> plannedChoice(mlir::Operation *op);
  llvm::FailureOr<OpSplit> plannedOrFollowed(mlir::Operation *op, const graph::OpRule &rule,
                                             PlacementOn placementOn);

  const Mesh &mesh;
  TensorPattern pattern;
  bool splitsWeights, foldsExperts;
  const OpSplits *planned;
  llvm::SmallVector<unsigned, 2> tensorAxes; // outermost first
  const DimRoles &roles;
  const HeadOps &heads;
  const TextbookPattern &textbook;
  // The plan says this of the ops of one name in a function, of which so many were asked for.
  struct PlannedOps {
    std::vector<llvm::ArrayRef<int>> choices;
    size_t asked = 0;
  };
  std::map<std::string, std::map<std::string, PlannedOps>> plannedOps;
};

// Returns whether plans say how `op` is split (op_splits), which they do by its function, its name,
// and its number among the ops of that name. All other ops are split as what they read:
// - numbers without dims, which have no loop that a plan could name;
// - what moves rows between the ranks of experts, which only plans with such ranks have;
// - roundings and scales, which come and go with the precision and the number of micro-batches;
// - additions of gradients in '@microbatch', of which there are more where a pipeline's stages cut
//   a repeat whose layers read the same tensor.
bool isInPlans(mlir::Operation *op, const graph::OpRule &rule);

} // namespace dtc

// Seconds of ops that finish sums within themselves.
#include "compiler/search/placement/StageCosts.h"

#include "passes/shard/Stages.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dtc {
namespace {

// The stages' kernels, and what their operands take to be where they need them.
double secondsOfStages(const Stages &stages, const PlacementCosts &costs) {
  double seconds = 0;
  llvm::DenseMap<Value, SmallVector<Placement, 2>> moved;
  for (auto [stage, split] : llvm::zip(stages.ops, stages.splits)) {
    graph::OpRule rule = cast<graph::RuleOpInterface>(stage).getRule();
    seconds += costs.opSeconds(stage, rule, split);
    for (auto [index, operand] : llvm::enumerate(stage->getOperands())) {
      Placement need = operandUnder(rule, index, split);
      const Placement &from = stages.placements.find(operand)->second;
      SmallVector<Placement, 2> &known = moved[operand];
      if (need == from || llvm::is_contained(known, need))
        continue;
      known.push_back(need);
      seconds += costs.moveSeconds(operand.getType(), from, need);
    }
  }
  return seconds;
}

} // namespace

double secondsOfOp(Operation *op, const graph::OpRule &rule, ArrayRef<int> split, const Mesh &mesh,
                   const PlacementCosts &costs) {
  if (!cutsStagedLoop(rule, split))
    return costs.opSeconds(op, rule, split);
  // On a copy, so that the step stays as it is.
  Block scratch;
  IRMapping arguments;
  for (Value operand : op->getOperands())
    arguments.map(operand, scratch.addArgument(operand.getType(), operand.getLoc()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  Operation *copy = builder.clone(*op, arguments);
  return secondsOfStages(buildStages(copy, rule, split, mesh), costs);
}

} // namespace dtc

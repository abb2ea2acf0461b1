// Decomposes ops that finish sums within themselves.
#include "passes/shard/Stages.h"

using namespace mlir;

namespace dtc {
namespace {

// Records the ops that a builder makes.
struct Recorder : OpBuilder::Listener {
  explicit Recorder(SmallVectorImpl<Operation *> &ops) : ops(ops) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    ops.push_back(op);
  }
  SmallVectorImpl<Operation *> &ops;
};

// Returns a split that follows the placements of the operands. A partial sum is finished before its
// first reader, because others may read it too.
OpSplit splitOf(Operation *op, const graph::OpRule &rule, const Mesh &mesh,
                const llvm::DenseMap<Value, Placement> &placements) {
  OpSplit split;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
    int choice = followOperands(op, rule, ArrayRef<int64_t>(mesh.sizes).take_front(axis + 1), split,
                                [&](Value operand) { return placements.at(operand)[axis]; });
    split.push_back(choice == split::kPartial ? split::kNone : choice);
  }
  return split;
}

} // namespace

bool cutsStagedLoop(const graph::OpRule &rule, ArrayRef<int> split) {
  return llvm::any_of(split, [&](int choice) {
    return choice >= 0 && rule.loops[choice].kind == graph::LoopKind::Staged;
  });
}

Stages buildStages(Operation *op, const graph::OpRule &rule, ArrayRef<int> split,
                   const Mesh &mesh) {
  Stages stages;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    stages.placements[operand] = operandUnder(rule, index, split);
  Recorder recorder(stages.ops);
  OpBuilder builder(op, &recorder);
  stages.results = cast<graph::DecomposeOpInterface>(op).decompose(builder);
  for (Operation *stage : stages.ops) {
    graph::OpRule ofStage = cast<graph::RuleOpInterface>(stage).getRule();
    stages.splits.push_back(splitOf(stage, ofStage, mesh, stages.placements));
    for (auto [index, result] : llvm::enumerate(stage->getResults()))
      stages.placements[result] = resultUnder(ofStage, index, stages.splits.back());
  }
  return stages;
}

LogicalResult takeApart(ModuleOp step, const Mesh &mesh) {
  SmallVector<Operation *> ops;
  step.walk([&](graph::DecomposeOpInterface op) {
    if (op->hasAttr(kSplitsAttr))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    graph::OpRule rule = cast<graph::RuleOpInterface>(op).getRule();
    FailureOr<OpSplit> split = readSplit(op, rule, mesh);
    if (failed(split))
      return failure();
    if (!cutsStagedLoop(rule, *split))
      continue;
    Stages stages = buildStages(op, rule, *split, mesh);
    for (auto [stage, ofStage] : llvm::zip(stages.ops, stages.splits))
      setSplit(stage, ofStage);
    op->replaceAllUsesWith(stages.results);
    op->erase();
  }
  return success();
}

} // namespace dtc

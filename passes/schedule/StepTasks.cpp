// Which ops of a step make up which task.
#include "passes/schedule/StepTasks.h"

#include "dialects/exec/Exec.h"
#include "dialects/graph/Slices.h"

using namespace mlir;
using namespace dtc;

namespace {
void addTask(std::vector<StepTask> &tasks, StringRef name, Block &body,
             llvm::function_ref<bool(Operation *)> belongs) {
  StepTask task{name.str(), {}};
  for (Operation &op : body.without_terminator())
    if (belongs(&op))
      task.ops.push_back(&op);
  tasks.push_back(std::move(task));
}
} // namespace

StepTasks::StepTasks(graph::FuncOp microBatch, graph::FuncOp update, const Addends &addends,
                     bool splitBackward) {
  Block &body = microBatch.getBody().front();
  graph::OpSet forward =
      graph::getProducers(graph::getResultsWith(microBatch, graph::kAccumulatedAttr));
  SmallVector<Value> losses =
      graph::getResultsWith(microBatch, graph::kAccumulatedAttr, graph::kLossSum);
  Operation *loss = losses.empty() ? nullptr : losses.front().getDefiningOp();
  if (!loss) {
    addTask(ofMicroBatch, "micro_batch", body, [](Operation *) { return true; });
  } else {
    auto isWeightGradient = [&](Operation *op) {
      return splitBackward && op->getNumResults() > 0 &&
             (addends.isAbsorbed(op) || llvm::all_of(op->getResults(), [&](Value result) {
                return !addends.getResults(result).empty() &&
                       llvm::all_of(result.getUsers(), [&](Operation *user) {
                         return user->hasTrait<OpTrait::IsTerminator>() || addends.isAbsorbed(user);
                       });
              }));
    };
    addTask(ofMicroBatch, "forward", body, [&](Operation *op) { return forward.contains(op); });
    addTask(ofMicroBatch, "backward", body,
            [&](Operation *op) { return !forward.contains(op) && !isWeightGradient(op); });
    if (splitBackward)
      addTask(ofMicroBatch, "weight_gradients", body,
              [&](Operation *op) { return !forward.contains(op) && isWeightGradient(op); });
  }

  SmallVector<Value> reported = graph::getResultsWith(update, graph::kOutputAttr, graph::kLossSum);
  hasLoss = loss && !reported.empty();
  graph::OpSet ofLoss = graph::getProducers(reported);
  Block &updates = update.getBody().front();
  if (hasLoss)
    addTask(ofStep, "loss", updates, [&](Operation *op) { return ofLoss.contains(op); });
  addTask(ofStep, "update", updates,
          [&](Operation *op) { return !hasLoss || !ofLoss.contains(op); });
}

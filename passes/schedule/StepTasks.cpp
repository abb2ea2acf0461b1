// Which ops of a step make up which task.
#include "passes/schedule/StepTasks.h"

#include "dialects/exec/Exec.h"

using namespace mlir;
using namespace dtc;

namespace {
using OpSet = llvm::SmallPtrSet<Operation *, 32>;

// Adds the ops that `value` depends on.
void addProducers(Value value, OpSet &ops) {
  SmallVector<Value> left{value};
  while (!left.empty())
    if (Operation *op = left.pop_back_val().getDefiningOp(); op && ops.insert(op).second)
      llvm::append_range(left, op->getOperands());
}

// The results of a function whose attribute `name` is a string that `wanted` takes.
template <typename Wanted>
SmallVector<Value> resultsWith(graph::FuncOp function, StringRef name, Wanted wanted) {
  SmallVector<Value> values;
  for (auto [index, value] :
       llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (auto attr = function.getResultAttrOfType<StringAttr>(index, name);
        attr && wanted(attr.getValue()))
      values.push_back(value);
  return values;
}

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
  OpSet forward;
  for (Value sum : resultsWith(microBatch, graph::kAccumulatedAttr, [](StringRef) { return true; }))
    addProducers(sum, forward);
  SmallVector<Value> losses = resultsWith(microBatch, graph::kAccumulatedAttr,
                                          [](StringRef name) { return name == graph::kLossSum; });
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

  StringRef lossOutput = exec::stringifyOutputRole(exec::OutputRole::Loss);
  OpSet ofLoss;
  for (Value value : resultsWith(update, graph::kOutputAttr,
                                 [&](StringRef name) { return name == lossOutput; })) {
    addProducers(value, ofLoss);
    hasLoss = loss != nullptr;
  }
  Block &updates = update.getBody().front();
  if (hasLoss)
    addTask(ofStep, "loss", updates, [&](Operation *op) { return ofLoss.contains(op); });
  addTask(ofStep, "update", updates,
          [&](Operation *op) { return !hasLoss || !ofLoss.contains(op); });
}

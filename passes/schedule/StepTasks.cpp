// Divides the ops of a step into tasks.
#include "passes/schedule/StepTasks.h"

#include "dialects/exec/Exec.h"
#include "dialects/graph/Chunks.h"
#include "dialects/graph/Slices.h"
#include "dialects/graph/TransferOps.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <set>

using namespace mlir;
using namespace dtc;

namespace {
void addTask(std::vector<StepTask> &tasks, const Twine &name, Block &body,
             llvm::function_ref<bool(Operation *)> belongs) {
  StepTask task{name.str(), {}};
  for (Operation &op : body.without_terminator())
    if (belongs(&op))
      task.ops.push_back(&op);
  tasks.push_back(std::move(task));
}

// Returns the sums of which the value is an addend, directly or after being moved there, as
// scattered results are; empty if it has another reader.
llvm::SmallSetVector<unsigned, 2> sumsOf(Value value, const Addends &addends) {
  llvm::SmallSetVector<unsigned, 2> sums;
  sums.insert_range(addends.getResults(value));
  bool isAddend = !sums.empty();
  for (Operation *user : value.getUsers()) {
    if (isAddend && (user->hasTrait<OpTrait::IsTerminator>() || addends.isAbsorbed(user)))
      continue;
    llvm::SmallSetVector<unsigned, 2> moved;
    if (user->getNumOperands() == 1 && user->getNumResults() == 1)
      moved = sumsOf(user->getResult(0), addends);
    if (moved.empty())
      return {};
    sums.insert_range(moved);
  }
  return sums;
}

// True if all results of an op are addends of gradients.
bool isWeightGradient(Operation *op, const Addends &addends) {
  return op->getNumResults() > 0 &&
         (addends.isAbsorbed(op) || llvm::all_of(op->getResults(), [&](Value result) {
            return !sumsOf(result, addends).empty();
          }));
}

Value lossOf(graph::FuncOp microBatch) {
  SmallVector<Value> losses =
      graph::getResultsWith(microBatch, graph::kAccumulatedAttr, graph::kLossSum);
  return losses.empty() || !losses.front().getDefiningOp() ? Value() : losses.front();
}

} // namespace

StepTasks::StepTasks(graph::FuncOp microBatch, graph::FuncOp update, const Addends &addends,
                     bool splitBackward, const std::optional<StageOrder> &stage) {
  if (stage)
    addChunks(microBatch, addends, *stage);
  else
    addPhases(microBatch, addends, splitBackward);

  SmallVector<Value> reported = graph::getResultsWith(update, graph::kOutputAttr, graph::kLossSum);
  hasLoss = lossOf(microBatch) && !reported.empty();
  graph::OpSet ofLoss = graph::getProducers(reported);
  SmallVector<Value> gradients = graph::getResultsWith(update, graph::kOutputAttr, kGradientScale);
  for (const FinalGradient &gradient : findFinalGradients(update))
    gradients.push_back(gradient.value);
  graph::OpSet ofGradients = graph::getProducers(gradients);
  Block &updates = update.getBody().front();
  if (hasLoss)
    addTask(ofStep, "loss", updates, [&](Operation *op) { return ofLoss.contains(op); });
  auto isOfLoss = [&](Operation *op) { return hasLoss && ofLoss.contains(op); };
  addTask(ofStep, "gradients", updates,
          [&](Operation *op) { return !isOfLoss(op) && ofGradients.contains(op); });
  addTask(ofStep, "update", updates,
          [&](Operation *op) { return !isOfLoss(op) && !ofGradients.contains(op); });
}

void StepTasks::addPhases(graph::FuncOp microBatch, const Addends &addends, bool splitBackward) {
  Block &body = microBatch.getBody().front();
  if (!lossOf(microBatch)) {
    addTask(ofMicroBatch, "micro_batch", body, [](Operation *) { return true; });
    return;
  }
  graph::OpSet forward = graph::getProducers(graph::getForwardEnds(microBatch));
  auto isLater = [&](Operation *op) { return splitBackward && isWeightGradient(op, addends); };
  addTask(ofMicroBatch, "forward", body, [&](Operation *op) { return forward.contains(op); });
  addTask(ofMicroBatch, "backward", body,
          [&](Operation *op) { return !forward.contains(op) && !isLater(op); });
  if (splitBackward)
    addTask(ofMicroBatch, "weight_gradients", body,
            [&](Operation *op) { return !forward.contains(op) && isLater(op); });
}

void StepTasks::addChunks(graph::FuncOp microBatch, const Addends &addends,
                          const StageOrder &stage) {
  Block &body = microBatch.getBody().front();
  // the chunks that add to each sum
  std::map<unsigned, std::set<int64_t>> addingTo;
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      for (unsigned sum : addends.getResults(result))
        addingTo[sum].insert(graph::getChunk(&op).value_or(-1));
  auto isLater = [&](Operation *op) {
    return isWeightGradient(op, addends) && llvm::all_of(op->getResults(), [&](Value result) {
             return llvm::all_of(sumsOf(result, addends),
                                 [&](unsigned sum) { return addingTo[sum].size() == 1; });
           });
  };
  bool splits = stage.splitsBackward();
  for (const StageOrder::Run &run : stage.getWay()) {
    bool backward = !run.isForward();
    std::string suffix = "." + std::to_string(run.chunk);
    auto add = [&](const Twine &name, llvm::function_ref<bool(Operation *)> belongs) {
      addTask(ofMicroBatch, name, body, [&](Operation *op) {
        return graph::getChunkLabel(op) == graph::ChunkLabel{run.chunk, backward} && belongs(op);
      });
      ofMicroBatch.back().kind = run.kind;
      ofMicroBatch.back().chunk = run.chunk;
    };
    auto addTransfers = [&](const Twine &name, llvm::function_ref<bool(Operation *)> belongs) {
      add(name, belongs);
      std::vector<Operation *> &ops = ofMicroBatch.back().ops;
      // Sorts by name: sender and receiver must use the same order, however they got theirs.
      llvm::sort(ops, [](Operation *a, Operation *b) {
        auto nameOf = [](Operation *op) {
          return op->getAttrOfType<StringAttr>("name").getValue();
        };
        return nameOf(a) < nameOf(b);
      });
      if (ops.empty())
        ofMicroBatch.pop_back();
    };
    std::string phase = backward ? "backward" : "forward";
    switch (run.kind) {
    case StageOrder::WeightGradients:
      add("weight_gradients" + suffix, isLater);
      break;
    case StageOrder::ReceiveForward:
    case StageOrder::ReceiveBackward:
      addTransfers("receive_" + phase + suffix,
                   [](Operation *op) { return isa<graph::ReceiveOp>(op); });
      break;
    case StageOrder::SendForward:
    case StageOrder::SendBackward:
      addTransfers("send_" + phase + suffix, [](Operation *op) { return isa<graph::SendOp>(op); });
      break;
    case StageOrder::Forward:
    case StageOrder::Backward:
      add(phase + suffix, [&](Operation *op) {
        return !isa<graph::ReceiveOp, graph::SendOp>(op) && !(backward && splits && isLater(op));
      });
    }
  }
}

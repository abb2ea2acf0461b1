// Carries the splits of ops from one copy of a model to another.
#include "compiler/plan/OpSplits.h"

#include "dialects/graph/Graph.h"
#include "passes/shard/OpSplit.h"
#include "passes/shard/Partition.h"

using namespace mlir;

namespace dtc {
namespace {

LogicalResult applyToFunction(graph::FuncOp func, const std::vector<OpSplits::Op> &splits) {
  Builder builder(func.getContext());
  size_t next = 0;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (!isa<graph::RuleOpInterface>(op))
      continue;
    StringRef name = op.getName().stripDialect();
    if (next == splits.size() || splits[next].name != name)
      return op.emitOpError("is op ")
             << next << " of '@" << func.getSymName() << "', where the plan's op_splits have "
             << (next == splits.size() ? std::string("no more") : "'" + splits[next].name + "'")
             << "; plan this model again with 'dtc plan'";
    op.setAttr(kSplitAttr, builder.getI64IntegerAttr(splits[next++].choice));
  }
  if (next < splits.size())
    return func.emitOpError("has ") << next << " ops, the plan's op_splits have " << splits.size()
                                    << "; plan this model again with 'dtc plan'";
  return success();
}

} // namespace

LogicalResult applySplits(ModuleOp step, const OpSplits &splits) {
  if (splits.empty())
    return success();
  decomposeCrossEntropy(step);
  for (const auto &[name, ops] : splits.functions) {
    auto func = step.lookupSymbol<graph::FuncOp>(name);
    if (!func)
      return step.emitError("the plan's op_splits name the function '")
             << name << "', which the model's step does not have; plan this model again";
    if (failed(applyToFunction(func, ops)))
      return failure();
  }
  Builder builder(step.getContext());
  LogicalResult result = success();
  step.walk([&](graph::CallOp call) {
    auto it = splits.calls.find(call.getCallee().str());
    if (it == splits.calls.end())
      return;
    auto isPossible = [&](auto pair) {
      auto [operand, told] = pair;
      auto type = cast<RankedTensorType>(operand.getType());
      return told >= split::kKeep && told != split::kPartial && told < type.getRank();
    };
    if (it->second.size() == call.getNumOperands() &&
        !llvm::all_of(llvm::zip(call.getOperands(), it->second), isPossible))
      result = call.emitOpError("can't have its operands split as the plan's op_splits say: a dim "
                                "is beyond the operand's");
    else if (it->second.size() != call.getNumOperands())
      result = call.emitOpError("has ")
               << call.getNumOperands() << " operands, the plan's op_splits have "
               << it->second.size();
    else
      call->setAttr(kSplitAttr, builder.getDenseI64ArrayAttr(it->second));
  });
  return result;
}

void placeParameters(ModuleOp model, const std::map<std::string, int64_t> &parameters,
                     unsigned axis, unsigned numAxes) {
  auto assign = [&](StringRef symbol, int64_t dim) {
    Placement placement(numAxes, AxisPlacement::replicate());
    if (dim >= 0)
      placement[axis] = AxisPlacement::shard(dim);
    model.lookupSymbol<graph::ParameterOp>(symbol).setPlacementAttr(
        toAttr(model.getContext(), placement));
  };
  for (auto parameter : model.getOps<graph::ParameterOp>()) {
    auto it = parameters.find(parameter.getSymName().str());
    assign(parameter.getSymName(), it == parameters.end() ? -1 : it->second);
  }
  // By callee and argument.
  std::map<std::pair<std::string, unsigned>, int64_t> known;
  auto loss = model.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  for (auto call : loss.getBody().getOps<graph::CallOp>())
    for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
      auto get = operand.getDefiningOp<graph::GetOp>();
      if (!get)
        continue;
      std::pair<std::string, unsigned> key{call.getCallee().str(), static_cast<unsigned>(index)};
      auto it = parameters.find(get.getSymbol().str());
      if (it != parameters.end())
        known[key] = it->second;
      else if (auto layer = known.find(key); layer != known.end())
        assign(get.getSymbol(), layer->second);
    }
}

} // namespace dtc

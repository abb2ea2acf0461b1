// Finds the weights of weighted means beside other terms of a loss and builds '@prepare'.
#include "passes/graph/StepWeights.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/OptimizerOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StepWeights.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtc {
namespace {

// True if both are made by the same ops from the same inputs. Visits each pair of values once:
// there may be exponentially many paths between two values.
bool areEquivalent(Value a, Value b) {
  llvm::SetVector<std::pair<Value, Value>> pairs;
  pairs.insert({a, b});
  for (size_t next = 0; next < pairs.size(); ++next) {
    auto [one, other] = pairs[next];
    if (one == other)
      continue;
    auto x = dyn_cast<OpResult>(one), y = dyn_cast<OpResult>(other);
    if (!x || !y || x.getResultNumber() != y.getResultNumber() || x.getType() != y.getType())
      return false;
    Operation *p = x.getOwner(), *q = y.getOwner();
    if (p->getName() != q->getName() || p->getAttrDictionary() != q->getAttrDictionary() ||
        p->getNumOperands() != q->getNumOperands())
      return false;
    for (auto [left, right] : llvm::zip_equal(p->getOperands(), q->getOperands()))
      pairs.insert({left, right});
  }
  return true;
}

// Returns the ops of the function that a value depends on, in their order.
SmallVector<Operation *> makersOf(Value value) {
  llvm::SetVector<Operation *> makers;
  if (Operation *op = value.getDefiningOp())
    makers.insert(op);
  for (size_t next = 0; next < makers.size(); ++next)
    for (Value operand : makers[next]->getOperands())
      if (Operation *op = operand.getDefiningOp())
        makers.insert(op);
  SmallVector<Operation *> ordered(makers.begin(), makers.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

} // namespace

FailureOr<Value> findStepWeights(graph::FuncOp loss) {
  Value weights;
  for (auto mean : loss.getBody().getOps<graph::WeightedMeanOp>()) {
    if (weights && !areEquivalent(weights, mean.getWeights()))
      return mean.emitOpError(
          "has other weights than another weighted mean of the loss; means beside "
          "each other may have one kind of weights");
    weights = mean.getWeights();
    for (Operation *op : makersOf(weights)) {
      auto interface = dyn_cast<graph::RuleOpInterface>(op);
      if (interface && !isa<graph::RandomOpInterface>(op))
        continue;
      InFlightDiagnostic error = mean.emitOpError(
          "stands beside other terms of the loss, so that the sum of its weights is needed before "
          "the micro-batches run: make the weights of inputs alone, by ops of '@loss'");
      error.attachNote(op->getLoc()) << "they depend on this";
      return error;
    }
  }
  return weights;
}

void buildPrepare(graph::FuncOp loss, Value weights, int64_t rowsOfStep,
                  DenseMap<Value, int64_t> &rows, const SampleRows &rowsOfLoss) {
  auto module = loss->getParentOfType<ModuleOp>();
  Location loc = loss.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  graph::StateOp::create(builder, loc, graph::kWeightScaleState, FlatSymbolRefAttr(), scalar);
  auto prepare =
      graph::FuncOp::create(builder, loc, graph::kPrepareFunction, builder.getFunctionType({}, {}));
  if (prepare.getBody().empty())
    prepare.getBody().emplaceBlock();
  Block &body = prepare.getBody().front();
  SmallVector<Operation *> makers = makersOf(weights);
  IRMapping mapping;
  SmallVector<DictionaryAttr> attrs;
  for (BlockArgument argument : loss.getArguments()) {
    bool isRead = argument == weights || llvm::any_of(argument.getUsers(), [&](Operation *user) {
                    return llvm::is_contained(makers, user);
                  });
    if (!isRead)
      continue;
    mapping.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
    attrs.push_back(loss.getArgAttrDict(argument.getArgNumber()));
  }
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : makers)
    builder.clone(*op, mapping);
  for (auto [from, to] : mapping.getValueMap())
    if (rowsOfLoss.of(from) != 1)
      rows[to] = rowsOfLoss.of(from);
  Value own = mapping.lookup(weights);
  auto dims =
      llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(weights.getType()).getRank()));
  Value share = graph::ReduceOp::create(
      builder, loc, scalar, own,
      graph::ReduceKindAttr::get(builder.getContext(), graph::ReduceKind::Sum),
      builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(1), ArrayAttr());
  share = graph::ScaleOp::create(builder, loc, scalar, share,
                                 builder.getF64FloatAttr(1 / static_cast<double>(rowsOfStep)));
  Value scale = graph::InverseOrZeroOp::create(builder, loc, scalar, share);
  graph::SetOp::create(builder, loc, graph::kWeightScaleState, scale);
  graph::ReturnOp::create(builder, loc, ValueRange());
  prepare.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), {}));
  for (auto [index, dict] : llvm::enumerate(attrs))
    prepare.setArgAttrs(index, dict);
}

} // namespace dtc

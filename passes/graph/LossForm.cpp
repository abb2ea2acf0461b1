// Follows the batch from the inputs of a loss to its result.
#include "passes/graph/LossForm.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateOps.h"
#include "passes/graph/StateValues.h"
#include "passes/graph/StepWeights.h"

#include <map>

using namespace mlir;

namespace dtc {
namespace {

// The dependence of a value on the samples of a micro-batch.
enum class Extent {
  Free,    // independent of the samples
  Samples, // one part per sample: the value has the batch as a dim
  Mean,    // a mean over the samples
  Sum,
  WeightedMean,
  Beside,  // a weighted mean plus other means
  Maximum, // over the samples, and on its way to a state
  Last,    // any function of the whole batch, and on its way to a state
};
using Extents = SmallVector<Extent>;

bool hasBatch(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && !type.hasStaticShape();
}

// True if a value is a mean or sum over the batch, weighted or not.
bool isOverBatch(Extent extent) { return extent != Extent::Free && extent != Extent::Samples; }
bool hasWeights(Extent extent) {
  return extent == Extent::WeightedMean || extent == Extent::Beside;
}

bool hasLoop(const graph::OpRule &rule, graph::LoopKind kind) {
  return llvm::any_of(rule.loops, [&](const graph::Loop &loop) { return loop.kind == kind; });
}

// Returns true for a reduction to the mean over the samples.
bool isMeanOverBatch(Value value) {
  auto reduce = value.getDefiningOp<graph::ReduceOp>();
  return reduce && reduce.getKind() == graph::ReduceKind::Mean && hasBatch(reduce.getX()) &&
         !hasBatch(value);
}

// Returns true where nothing reads a value but ops, such as the root of a mean, whose results
// states take last.
bool becomesLast(Value first) {
  SmallVector<Value> values{first};
  llvm::DenseSet<Value> seen{first};
  while (!values.empty())
    for (OpOperand &use : values.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (auto observe = dyn_cast<graph::ObserveOp>(user)) {
        if (observe.getKind() != graph::ObserveKind::Last || &observe.getValueMutable() != &use)
          return false;
        continue;
      }
      if (isa<graph::BlockCallOpInterface>(user) || user->getNumResults() == 0 ||
          llvm::any_of(user->getResults(), hasBatch))
        return false;
      for (Value result : user->getResults())
        if (seen.insert(result).second)
          values.push_back(result);
    }
  return true;
}

// Returns true where nothing reads a value, or maxima of it and others, but states that take the
// maximum.
bool becomesMaximum(Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (auto observe = dyn_cast<graph::ObserveOp>(use.getOwner()))
      return observe.getKind() == graph::ObserveKind::Max && &observe.getValueMutable() == &use;
    return isa<graph::MaximumOp>(use.getOwner()) && becomesMaximum(use.getOwner()->getResult(0));
  });
}

bool isProductOfMeans(Operation &op) {
  return isa<graph::MultiplyOp>(op) && llvm::all_of(op.getOperands(), isMeanOverBatch);
}

class BatchReader {
public:
  explicit BatchReader(ModuleOp module) : module(module) {}

  FailureOr<Extents> read(graph::FuncOp func, const Extents &arguments) {
    auto key =
        std::pair(func.getSymName(), std::vector<Extent>(arguments.begin(), arguments.end()));
    if (auto known = blocks.find(key); known != blocks.end())
      return known->second;
    DenseMap<Value, Extent> extents;
    for (auto [argument, extent] : llvm::zip(func.getArguments(), arguments))
      extents[argument] = extent;
    for (Operation &op : func.getBody().front().without_terminator())
      if (failed(visit(op, extents)))
        return failure();
    Extents results = of(func.getBody().front().getTerminator()->getOperands(), extents);
    blocks[key] = results;
    return results;
  }

private:
  static Extents of(ValueRange values, const DenseMap<Value, Extent> &extents) {
    return llvm::map_to_vector(values, [&](Value value) { return extents.lookup(value); });
  }

  LogicalResult visit(Operation &op, DenseMap<Value, Extent> &extents) {
    Extents operands = of(op.getOperands(), extents);
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op)) {
      FailureOr<Extents> results = readCall(call, operands);
      if (failed(results))
        return failure();
      if (llvm::any_of(operands, hasWeights) || llvm::any_of(*results, hasWeights))
        return op.emitOpError("takes or returns a weighted mean; take it, and what stands beside "
                              "it in the loss, in '@loss'");
      for (auto [result, extent] : llvm::zip(op.getResults(), *results))
        extents[result] = extent;
      return success();
    }
    // The statistics of batch norm are over the whole step, or the model asks for those of parts.
    // They normalise or become state, and are no term of the loss.
    if (isa<graph::BatchNormaliseOp>(op) && !isOverBatch(operands[0])) {
      for (Value result : op.getResults())
        extents[result] = result == op.getResult(0) ? operands[0] : Extent::Free;
      return success();
    }
    // A state takes the mean, the sum, the maximum or the last, and moves nothing along with it.
    if (auto observe = dyn_cast<graph::ObserveOp>(op)) {
      Extent wanted = observe.getKind() == graph::ObserveKind::Sum   ? Extent::Sum
                      : observe.getKind() == graph::ObserveKind::Max ? Extent::Maximum
                                                                     : Extent::Mean;
      bool isLast = observe.getKind() == graph::ObserveKind::Last;
      if (isLast && failed(checkSources(observe, extents)))
        return failure();
      if (operands[2] == wanted || (isLast && !hasWeights(operands[2]))) {
        extents[observe.getResult()] = operands[0];
        return success();
      }
    }
    if (isOnWayToLast(op, operands)) {
      for (Value result : op.getResults())
        extents[result] = Extent::Last;
      return success();
    }
    for (Value result : op.getResults()) {
      FailureOr<Extent> extent = hasBatch(result) ? ofSamples(op, operands) : ofWhole(op, operands);
      if (failed(extent))
        return failure();
      extents[result] = *extent;
    }
    return success();
  }

  // Returns true for an op whose results only states read, which take their last value: a step of
  // one micro-batch, which others check, finishes what it reads.
  static bool isOnWayToLast(Operation &op, const Extents &operands) {
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (interface && hasLoop(interface.getRule(), graph::LoopKind::Weighted))
      return false; // only '@update' knows the sum of the weights
    return op.getNumResults() > 0 && llvm::none_of(operands, hasWeights) &&
           !llvm::all_of(operands, [](Extent extent) { return extent == Extent::Free; }) &&
           llvm::all_of(op.getResults(), [](Value result) {
             return !result.use_empty() && !hasBatch(result) && becomesLast(result);
           });
  }

  // Fails where a state takes what is made of a mean or sum that another function has computed, of
  // which ranks have parts.
  static LogicalResult checkSources(graph::ObserveOp observe,
                                    const DenseMap<Value, Extent> &extents) {
    for (Value argument : sourcesOf(observe).arguments)
      if (isOverBatch(extents.lookup(argument)))
        return observe.emitOpError("takes what is made of a mean or sum over the batch that "
                                   "another function has computed; compute it in the one that "
                                   "has the state");
    return success();
  }

  // Reads the form of a call's results. The carried values of a repeat start as its operands and
  // then are the results of its block.
  FailureOr<Extents> readCall(graph::BlockCallOpInterface call, Extents operands) {
    auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    auto numCarried = static_cast<size_t>(call.getNumCarried());
    FailureOr<Extents> results = read(callee, operands);
    if (failed(results) || call.getNumExecutions() == 1)
      return results;
    auto carries = [&] { return ArrayRef<Extent>(operands).take_front(numCarried); };
    if (carries() == ArrayRef<Extent>(*results).take_front(numCarried))
      return results;
    std::copy(results->begin(), results->begin() + call.getNumCarried(), operands.begin());
    results = read(callee, operands);
    if (succeeded(results) && carries() != ArrayRef<Extent>(*results).take_front(numCarried))
      return call.emitOpError("carries what depends on the batch in another way in each execution");
    return results;
  }

  // Returns the extent of a result that has one part per sample, each computed from that sample
  // alone.
  static FailureOr<Extent> ofSamples(Operation &op, const Extents &operands) {
    if (llvm::any_of(operands, isOverBatch))
      return op.emitOpError("uses a mean or sum over the batch for each sample, which would be "
                            "another for every size of a micro-batch");
    if (auto interface = dyn_cast<graph::RuleOpInterface>(op))
      for (const graph::Loop &loop : interface.getRule().loops)
        if (ShapedType::isDynamic(loop.size) && loop.kind != graph::LoopKind::Parallel)
          return op.emitOpError("mixes the samples of a batch, which micro-batches and ranks cut "
                                "into parts");
    return Extent::Samples;
  }

  // Returns the extent of a result without the batch.
  static FailureOr<Extent> ofWhole(Operation &op, const Extents &operands) {
    if (llvm::all_of(operands, [](Extent extent) { return extent == Extent::Free; }))
      return Extent::Free;
    if (isMaximum(op, operands) && becomesMaximum(op.getResult(0)))
      return Extent::Maximum;
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (interface && hasLoop(interface.getRule(), graph::LoopKind::Weighted))
      return Extent::WeightedMean;
    if (llvm::is_contained(operands, Extent::Samples))
      return ofBatch(op, operands);
    return ofLinear(op, operands);
  }

  // Returns true for a maximum over samples, and for that of such a maximum and what no sample
  // changes: in a step of one micro-batch, which others check, its ranks can finish either.
  static bool isMaximum(Operation &op, const Extents &operands) {
    if (auto reduce = dyn_cast<graph::ReduceOp>(op))
      return reduce.getKind() == graph::ReduceKind::Max;
    return isa<graph::MaximumOp>(op) && llvm::all_of(operands, [](Extent extent) {
             return extent == Extent::Free || extent == Extent::Maximum;
           });
  }

  // Returns the extent of a result that combines the samples of an operand by a mean or a sum.
  static FailureOr<Extent> ofBatch(Operation &op, const Extents &operands) {
    bool mixed = llvm::any_of(operands, isOverBatch);
    graph::OpRule rule;
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (interface)
      rule = interface.getRule();
    if (hasLoop(rule, graph::LoopKind::Mean))
      return Extent::Mean;
    bool adds = interface && !mixed && llvm::all_of(rule.loops, [](const graph::Loop &loop) {
                  return !ShapedType::isDynamic(loop.size) || loop.kind == graph::LoopKind::Sum;
                });
    if (!adds)
      return op.emitOpError("makes one value of the samples of a batch by other than a mean or a "
                            "sum, which micro-batches and ranks can't put together");
    return Extent::Sum;
  }

  // Returns the extent of a linear op over means or sums.
  static FailureOr<Extent> ofLinear(Operation &op, const Extents &operands) {
    bool weighted = llvm::any_of(operands, hasWeights),
         means = llvm::is_contained(operands, Extent::Mean) || weighted,
         sums = llvm::is_contained(operands, Extent::Sum),
         others = llvm::is_contained(operands, Extent::Free);
    if (isProductOfMeans(op) &&
        llvm::all_of(operands, [](Extent extent) { return extent == Extent::Mean; }))
      return Extent::Mean; // of a step that has one micro-batch, which others check
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (!interface || !interface.getRule().jointlyLinear)
      return op.emitOpError("is not linear in a mean or sum over the batch, so that the results of "
                            "micro-batches would not make up that of a step");
    if (weighted && op.getNumOperands() > 1 && !isa<graph::AddOp, graph::SubtractOp>(op))
      return op.emitOpError("puts a weighted mean beside others by other than graph.add and "
                            "graph.subtract");
    if (sums && (means || others))
      return op.emitOpError("adds a sum over the batch to what is none; a step of several "
                            "micro-batches would count the other once for each");
    return sums ? Extent::Sum : weighted ? Extent::Beside : Extent::Mean;
  }

  ModuleOp module;
  std::map<std::pair<StringRef, std::vector<Extent>>, Extents> blocks;
};

} // namespace

graph::MultiplyOp findProductOfMeans(graph::FuncOp loss) {
  for (auto multiply : loss.getBody().getOps<graph::MultiplyOp>())
    if (isProductOfMeans(*multiply))
      return multiply;
  return {};
}

FailureOr<LossForm> findLossForm(graph::FuncOp loss) {
  Extents arguments = llvm::map_to_vector(loss.getArguments(), [](BlockArgument argument) {
    return hasBatch(argument) ? Extent::Samples : Extent::Free;
  });
  FailureOr<Extents> results = BatchReader(loss->getParentOfType<ModuleOp>()).read(loss, arguments);
  if (failed(results))
    return failure();
  Extent result = results->front();
  if (result == Extent::Beside && failed(findStepWeights(loss)))
    return failure();
  return result == Extent::WeightedMean ? LossForm::WeightedMean
         : result == Extent::Beside     ? LossForm::Beside
         : result == Extent::Sum        ? LossForm::Sum
                                        : LossForm::Mean;
}

} // namespace dtc

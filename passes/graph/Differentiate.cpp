// Turns the loss into a function that also returns gradients (pass dtc-differentiate).
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Inputs.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateOps.h"
#include "dialects/graph/StepWeights.h"
#include "passes/graph/BlockGradients.h"
#include "passes/graph/InputLimits.h"
#include "passes/graph/Observations.h"
#include "passes/graph/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace dtc {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

LogicalResult checkLoss(graph::FuncOp loss) {
  if (failed(graph::checkLossSignature(loss)))
    return failure();
  for (BlockArgument argument : loss.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()); !type || !type.hasStaticShape())
      return loss.emitOpError("has argument ")
             << argument.getArgNumber() << " of type " << argument.getType()
             << ", whose batch has no size; run dtc-bind-batch first";
  return success();
}

class LossDifferentiator {
public:
  LossDifferentiator(ModuleOp module, graph::FuncOp loss, int64_t microBatches)
      : module(module), loss(loss), microBatches(microBatches),
        scale(loss->hasAttr(graph::kAddsUpAttr) ? 1.0 : 1.0 / static_cast<double>(microBatches)),
        blocks(module) {}

  LogicalResult run() {
    Block &body = loss.getBody().front();
    Operation *returned = body.getTerminator();
    OpBuilder builder(returned);
    if (failed(limitInputs(builder)))
      return failure();
    Value weight = takeWeightedMeanApart(returned);
    Beside beside = weight ? Beside() : takeBesideApart(returned);
    if (beside.weight)
      weight = beside.weight;
    ReverseMode reverse(builder, [&](graph::BlockCallOpInterface call, ValueRange grads,
                                     SmallVectorImpl<Value> &operandGrads) {
      return blocks.callBackward(builder, call, grads, operandGrads);
    });
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    FailureOr<llvm::StringSet<>> observed = observedParameters(module);
    if (failed(observed))
      return failure();
    noteUpdates(module);
    for (Operation *op : ops)
      if (auto get = dyn_cast<graph::GetOp>(op);
          get && (isTrained(get.getSymbol()) || observed->contains(get.getSymbol())))
        reverse.want(get.getResult());
    reverse.markActive(ops);
    if (failed(blocks.replaceCalls(ops, reverse)))
      return failure();
    reverse.markActive(ops);
    if (weight && reverse.isActive(weight))
      return weight.getDefiningOp()->emitOpError(
          "has weights that depend on parameters; those of a weighted mean come from inputs alone");

    Value value = returned->getOperand(0);
    Location loc = value.getLoc();
    reverse.seed(value, seedOf(builder, value));
    if (failed(reverse.run(ops)))
      return failure();
    auto scaled = [&](Value sum) -> Value {
      if (!sum || scale == 1)
        return sum;
      return graph::ScaleOp::create(builder, loc, sum.getType(), sum,
                                    builder.getF64FloatAttr(scale));
    };
    if (beside.weighted)
      value = beside.weighted;
    SmallVector<Value> sums{scaled(value), weight, scaled(beside.others)};
    if (failed(returnWithGradients(builder, reverse, *observed, sums, returned)))
      return failure();
    eraseUnused();
    dropObservations(module);
    return writeBatchNorms();
  }

private:
  // Writes batch norms out once the gradients that read their statistics are there.
  LogicalResult writeBatchNorms() {
    SmallVector<graph::BatchNormaliseOp> norms;
    module.walk([&](graph::BatchNormaliseOp op) { norms.push_back(op); });
    for (graph::BatchNormaliseOp norm : norms)
      if (failed(norm.writeSums()))
        return failure();
    return success();
  }

  // True if the symbol is a parameter that is not frozen.
  bool isTrained(StringRef symbol) {
    auto parameter = module.lookupSymbol<graph::ParameterOp>(symbol);
    return parameter && !parameter.getFrozen();
  }

  // Records the limits of index inputs on the inputs: the op that looks something up is far from
  // the file that holds the index.
  LogicalResult limitInputs(OpBuilder &builder) {
    llvm::StringMap<InputLimit> limits;
    for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
      InputLimit limit = findInputLimit(loss, i);
      if (limit.below > 0)
        loss.setArgAttr(i, graph::kBelowAttr, builder.getI64IntegerAttr(limit.below));
      if (limit.ignored)
        loss.setArgAttr(i, graph::kIgnoredAttr, builder.getI64IntegerAttr(*limit.ignored));
      if (auto name = loss.getArgAttrOfType<StringAttr>(i, graph::kInputAttr))
        limits[name] = limit;
    }
    auto targets = limits.find("targets");
    if (limits.contains("documents") && targets != limits.end() && targets->second.below > 0 &&
        !targets->second.ignored)
      return loss.emitError("the model reads 'documents', and its loss counts all 'targets'; the "
                            "last token of a document has none: write 'graph.cross_entropy ... "
                            "ignoring -100'");
    return success();
  }

  // True if rows are 0, and have no gradient, wherever `weights`, which are 0 or 1, are 0: a cross
  // entropy has already left out the targets that are not counted.
  static bool isZeroWithout(Value rows, Value weights) {
    auto entropy = rows.getDefiningOp<graph::CrossEntropyOp>();
    auto counted = weights.getDefiningOp<graph::CountedOp>();
    return entropy && counted && rows == entropy.getLoss() &&
           entropy.getTargets() == counted.getTargets() &&
           entropy.getIgnoringAttr() == counted.getIgnoringAttr();
  }

  struct WeightedSums {
    Value mean;   // the mean over all rows of a micro-batch of each row times its weight
    Value weight; // the sum of the weights
  };

  WeightedSums sumsOf(OpBuilder &builder, graph::WeightedMeanOp mean) {
    Value x = mean.getX(), weights = mean.getWeights();
    auto type = cast<RankedTensorType>(x.getType());
    rows = type.getNumElements() * microBatches;
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    auto sum = [&](Value value, double scaledBy) -> Value {
      return graph::ReduceOp::create(
          builder, mean.getLoc(), mean.getType(), value,
          graph::ReduceKindAttr::get(module.getContext(), graph::ReduceKind::Sum),
          builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(scaledBy), ArrayAttr());
    };
    if (!isZeroWithout(x, weights))
      x = graph::MultiplyOp::create(builder, mean.getLoc(), type, x, weights);
    return {sum(x, 1 / static_cast<double>(type.getNumElements())), sum(weights, 1)};
  }

  // Replaces a weighted mean by the sum of its weighted rows, and returns the sum of the weights,
  // null if there is no such mean. Both sums are known only at the end of a step, when '@update'
  // divides. Until then the loss is divided by the number of rows, as a plain mean is: so the
  // gradients have the magnitude of those of a mean, which matters for narrow gradient types, and
  // are the same if all weights are 1.
  Value takeWeightedMeanApart(Operation *returned) {
    auto mean = returned->getOperand(0).getDefiningOp<graph::WeightedMeanOp>();
    if (!mean)
      return Value();
    OpBuilder builder(mean);
    WeightedSums sums = sumsOf(builder, mean);
    returned->setOperand(0, sums.mean);
    mean.erase();
    return sums.weight;
  }

  // The sums of a loss that has weighted means beside other terms.
  struct Beside {
    Value weighted; // the part of the weighted means, as if they were means over all rows
    Value others;   // the other terms
    Value weight;   // the sum of the weights
  };

  // Returns the sums that the reported loss consists of, if weighted means stand beside other
  // terms. In the differentiated loss each weighted mean is multiplied by rows / weights of the
  // step, which '@prepare' computes; the sums omit that factor.
  Beside takeBesideApart(Operation *returned) {
    SmallVector<graph::WeightedMeanOp> means(loss.getBody().getOps<graph::WeightedMeanOp>());
    if (means.empty())
      return {};
    // values split into the part of weighted means and the part of others
    DenseMap<Value, Value> weighted, others;
    Beside beside;
    for (graph::WeightedMeanOp mean : means) {
      OpBuilder builder(mean);
      Location loc = mean.getLoc();
      WeightedSums sums = sumsOf(builder, mean);
      beside.weight = sums.weight;
      Value ofStep = graph::GetOp::create(
          builder, loc, mean.getType(),
          FlatSymbolRefAttr::get(module.getContext(), graph::kWeightScaleState));
      Value exact = graph::MultiplyOp::create(builder, loc, mean.getType(), sums.mean, ofStep);
      weighted[exact] = sums.mean;
      others[exact] = Value();
      mean.getResult().replaceAllUsesWith(exact);
      mean.erase();
    }
    OpBuilder builder(returned);
    SmallVector<Operation *> ops;
    for (Operation &op : loss.getBody().front().without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops) {
      if (llvm::none_of(op->getOperands(), [&](Value value) { return weighted.contains(value); }))
        continue;
      auto partsOf = [&](auto partOf) { return llvm::map_to_vector(op->getOperands(), partOf); };
      weighted[op->getResult(0)] =
          linearPart(builder, op, partsOf([&](Value value) { return weighted.lookup(value); }));
      others[op->getResult(0)] = linearPart(builder, op, partsOf([&](Value value) {
                                              auto part = others.find(value);
                                              return part == others.end() ? value : part->second;
                                            }));
    }
    Value value = returned->getOperand(0);
    beside.weighted = weighted.lookup(value);
    beside.others = others.lookup(value);
    if (!beside.others) // the loss is a multiple of a weighted mean
      beside.others = graph::ScaleOp::create(builder, value.getLoc(), value.getType(),
                                             beside.weighted, builder.getF64FloatAttr(0));
    return beside;
  }

  // Applies a linear op of a loss (LossForm::Beside) to parts of its operands; null stands for 0.
  static Value linearPart(OpBuilder &builder, Operation *op, ArrayRef<Value> parts) {
    auto numParts = llvm::count_if(parts, [](Value part) { return static_cast<bool>(part); });
    if (numParts == 0)
      return {};
    if (numParts == static_cast<int64_t>(parts.size())) {
      Operation *copy = builder.clone(*op);
      copy->setOperands(parts);
      return copy->getResult(0);
    }
    if (parts[0])
      return parts[0]; // covers graph.add and graph.subtract
    if (isa<graph::AddOp>(op))
      return parts[1];
    return graph::ScaleOp::create(builder, op->getLoc(), op->getResult(0).getType(), parts[1],
                                  builder.getF64FloatAttr(-1));
  }

  // Returns the gradient of the step's loss with respect to `value`: `scale` (one over the number
  // of micro-batches, or 1 if the loss is a sum), times the loss scale if there is one, which
  // '@update' divides by.
  Value seedOf(OpBuilder &builder, Value value) {
    Location loc = value.getLoc();
    Value seed =
        graph::ConstantOp::create(builder, loc, value.getType(), builder.getF64FloatAttr(scale));
    if (!module.lookupSymbol<graph::StateOp>(graph::kLossScaleState))
      return seed;
    Value lossScale =
        graph::GetOp::create(builder, loc, value.getType(),
                             FlatSymbolRefAttr::get(module.getContext(), graph::kLossScaleState));
    return graph::MultiplyOp::create(builder, loc, value.getType(), seed, lossScale);
  }

  // `observed`: the parameters that are states. `sumsOfLoss`: the loss; the weight of a weighted
  // mean, or null; the other terms beside it, or null.
  LogicalResult returnWithGradients(OpBuilder &builder, const ReverseMode &reverse,
                                    const llvm::StringSet<> &observed, ArrayRef<Value> sumsOfLoss,
                                    Operation *returned) {
    Value value = sumsOfLoss[0], weight = sumsOfLoss[1], beside = sumsOfLoss[2];
    llvm::MapVector<StringRef, Value> sums;
    for (auto get : loss.getBody().getOps<graph::GetOp>()) {
      Value gradient = reverse.gradientOf(get.getResult());
      if (!gradient)
        continue;
      Value &sum = sums[get.getSymbol()];
      sum = sum ? graph::AddOp::create(builder, get.getLoc(), gradient.getType(), sum, gradient)
                      .getResult()
                : gradient;
    }
    SmallVector<Value> results{value};
    SmallVector<DictionaryAttr> attrs{
        dict(builder, graph::kAccumulatedAttr, builder.getStringAttr(graph::kLossSum))};
    if (weight) {
      results.push_back(weight);
      attrs.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr(graph::kAccumulatedAttr, builder.getStringAttr(graph::kWeightSum)),
           builder.getNamedAttr(graph::kRowsAttr, builder.getI64IntegerAttr(rows))}));
    }
    if (beside) {
      results.push_back(beside);
      attrs.push_back(
          dict(builder, graph::kAccumulatedAttr, builder.getStringAttr(graph::kBesideSum)));
    }
    for (auto parameter : module.getOps<graph::ParameterOp>()) {
      Value gradient = sums.lookup(parameter.getSymName());
      if (!gradient && observed.contains(parameter.getSymName()))
        return parameter.emitError("'")
               << parameter.getSymName()
               << "' is observed where no gradient passes, so that it would keep its value; let "
                  "'graph.observe' return a tensor that the loss reads by ops with a gradient";
      if (!gradient) // the loss does not depend on it
        continue;
      results.push_back(gradient);
      attrs.push_back(dict(builder, graph::kGradientOfAttr,
                           FlatSymbolRefAttr::get(parameter.getSymNameAttr())));
    }
    graph::ReturnOp::create(builder, returned->getLoc(), results);
    returned->erase();
    loss.setFunctionType(FunctionType::get(module.getContext(), loss.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
    loss.setSymName(graph::kMicrobatchFunction);
    loss->removeAttr(graph::kAddsUpAttr);
    for (auto [index, attr] : llvm::enumerate(attrs))
      loss.setResultAttrs(index, attr);
    return success();
  }

  static DictionaryAttr dict(OpBuilder &builder, StringRef name, Attribute value) {
    return builder.getDictionaryAttr(builder.getNamedAttr(name, value));
  }

  // Erases the blocks that were replaced by their forward and backward functions.
  void eraseUnused() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto func : llvm::make_early_inc_range(module.getOps<graph::FuncOp>()))
        if (func.isPrivate() && SymbolTable::symbolKnownUseEmpty(func, module)) {
          func.erase();
          changed = true;
        }
    }
  }

  ModuleOp module;
  graph::FuncOp loss;
  int64_t microBatches;
  double scale;     // factor of the loss that a micro-batch returns, and of its gradients
  int64_t rows = 0; // rows of a step that a weighted mean is over
  BlockGradients blocks;
};

// Fails after a diagnostic if an op is in its short form: gradients need the results that it leaves
// out.
LogicalResult checkComplete(ModuleOp module) {
  WalkResult walk = module.walk([](graph::ShortFormOpInterface op) {
    if (!op.isShort())
      return WalkResult::advance();
    op.emitOpError("is in its short form, which dtc-complete-ops writes out first");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    if (!loss) {
      module.emitError("the module has no function '@loss' to differentiate");
      return signalPassFailure();
    }
    if (microBatches < 1) {
      module.emitError("dtc-differentiate needs 1 micro-batch or more, not ")
          << microBatches.getValue();
      return signalPassFailure();
    }
    module->setAttr(graph::kMicroBatchesAttr,
                    Builder(module.getContext()).getI64IntegerAttr(microBatches));
    if (failed(checkComplete(module)) || failed(checkLoss(loss)) ||
        failed(LossDifferentiator(module, loss, microBatches).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtc

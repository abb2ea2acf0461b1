// Gives the batch a size (pass dtc-bind-batch).
#include "dialects/graph/ShapeOps.h"
#include "passes/graph/Passes.h"

#include "dialects/graph/Inputs.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/StateOps.h"
#include "dialects/graph/StepWeights.h"
#include "passes/graph/LossForm.h"
#include "passes/graph/SampleRows.h"
#include "passes/graph/StateValues.h"
#include "passes/graph/StatisticsOfParts.h"
#include "passes/graph/StepWeights.h"

namespace dtc {
#define GEN_PASS_DEF_BINDBATCH
#include "dialects/graph/ElementwiseOps.h"
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

// Returns the type with `rows` as its batch dim.
Type bind(Type type, int64_t rows) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.hasStaticShape())
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = rows;
  return tensor.clone(shape);
}

// Turns a mean into a sum and divides its scale by the count of elements, which is that of all
// ranks: so splitting the batch later does not change the divisor.
void bindMean(graph::ReduceOp reduce) {
  if (reduce.getKind() != graph::ReduceKind::Mean)
    return;
  auto type = cast<RankedTensorType>(reduce.getX().getType());
  double count = 1;
  for (int64_t dim : reduce.getDims())
    count *= type.getDimSize(dim);
  reduce.setKind(graph::ReduceKind::Sum);
  reduce.setScaleAttr(
      Builder(reduce.getContext()).getF64FloatAttr(reduce.getScale().convertToDouble() / count));
}

// Finishes the means over the samples of all ranks before they are multiplied.
void finishMeans(graph::MultiplyOp product) {
  for (OpOperand &operand : product->getOpOperands()) {
    Operation *mean = operand.get().getDefiningOp();
    mean->setAttr(graph::kStatisticAttr, UnitAttr::get(mean->getContext()));
    OpBuilder builder(product);
    operand.set(
        graph::FinishOp::create(builder, mean->getLoc(), operand.get().getType(), operand.get()));
  }
}

// Finishes a sum over the samples of all ranks by which a state moves, or a maximum: it is no
// gradient, which ranks would add up at the end.
void finishValue(graph::ObserveOp observe) {
  if (!observe.getRate() && observe.getKind() != graph::ObserveKind::Max)
    return;
  OpBuilder builder(observe);
  Value sum = observe.getValue();
  observe.getValueMutable().assign(
      graph::FinishOp::create(builder, sum.getLoc(), sum.getType(), sum));
}

struct BindBatch : impl::BindBatchBase<BindBatch> {
  using BindBatchBase::BindBatchBase;

  void runOnOperation() override {
    if (batch < 1) {
      getOperation().emitError("dtc-bind-batch needs a batch of 1 or more, not ")
          << batch.getValue();
      return signalPassFailure();
    }
    if (ranks < 1 || batch % ranks != 0) {
      getOperation().emitError("dtc-bind-batch needs ranks that divide the batch of ")
          << batch.getValue() << ", not " << ranks.getValue();
      return signalPassFailure();
    }
    FailureOr<SampleRows> rows = SampleRows::read(getOperation());
    FailureOr<LossForm> form = noteLossForm();
    if (failed(rows) || failed(form) || failed(checkStatistics()))
      return signalPassFailure();
    auto loss = getOperation().lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    graph::MultiplyOp product = loss ? findProductOfMeans(loss) : graph::MultiplyOp();
    DenseMap<Value, int64_t> rowsOfPrepare;
    if (*form == LossForm::Beside)
      addPrepare(*rows, rowsOfPrepare);
    getOperation().walk([](graph::ObserveOp observe) {
      if (observe.getKind() == graph::ObserveKind::Last)
        finishSources(observe);
    });
    for (auto func : getOperation().getOps<graph::FuncOp>()) {
      bool isOfStep = func.getSymName() == graph::kPrepareFunction;
      auto bindValue = [&](Value value) {
        int64_t ofSample = rows->of(value);
        if (auto found = rowsOfPrepare.find(value); found != rowsOfPrepare.end())
          ofSample = found->second;
        value.setType(bind(value.getType(), batch * (isOfStep ? microBatches : 1) * ofSample));
      };
      llvm::for_each(func.getArguments(), bindValue);
      func.walk([&](Operation *op) { llvm::for_each(op->getResults(), bindValue); });
    }
    for (auto func : getOperation().getOps<graph::FuncOp>()) {
      Block &body = func.getBody().front();
      func.setFunctionType(FunctionType::get(&getContext(), body.getArgumentTypes(),
                                             body.getTerminator()->getOperandTypes()));
    }
    getOperation().walk([](graph::ReduceOp reduce) { bindMean(reduce); });
    if (product && ranks > 1)
      finishMeans(product);
    getOperation().walk([](graph::ObserveOp observe) { finishValue(observe); });
    takeStatisticsOfParts(getOperation(), ranks);
    getOperation()->setAttr(graph::kSamplesAttr, Builder(&getContext()).getI64IntegerAttr(batch));
  }

private:
  // Fails if statistics of the whole batch would be needed before all of its samples are there.
  LogicalResult checkStatistics() {
    WalkResult maxima = getOperation().walk([&](graph::ObserveOp observe) {
      if (microBatches == 1 || !takesWholeBatch(observe))
        return WalkResult::advance();
      bool isMaximum = observe.getKind() == graph::ObserveKind::Max;
      observe.emitOpError("takes ")
          << (isMaximum ? "a maximum over" : "a value made of")
          << " the whole batch, which the plan cuts into " << microBatches.getValue()
          << " micro-batches; leave micro_batch to the planner";
      return WalkResult::interrupt();
    });
    if (maxima.wasInterrupted())
      return failure();
    WalkResult walk = getOperation().walk([&](graph::BatchNormaliseOp norm) {
      if (norm.getParts() || microBatches == 1)
        return WalkResult::advance();
      norm.emitOpError("normalises by statistics of the whole batch, which the plan cuts into ")
          << microBatches.getValue()
          << " micro-batches; leave micro_batch to the planner, or take statistics of parts "
             "('parts'; dtc.export(..., batch_norm=\"parts\"))";
      return WalkResult::interrupt();
    });
    auto loss = getOperation().lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    if (graph::MultiplyOp product =
            loss && microBatches != 1 ? findProductOfMeans(loss) : graph::MultiplyOp()) {
      product.emitOpError("multiplies means over the whole batch, which the plan cuts into ")
          << microBatches.getValue()
          << " micro-batches; leave micro_batch to the planner, or, for experts, put "
             "\"moe_router_load_balancing_type\": \"seq_aux_loss\" in the config, for the loss of "
             "each sample";
      return failure();
    }
    return failure(walk.wasInterrupted());
  }

  // Adds the function that sums the weights of the whole step before its micro-batches run.
  void addPrepare(const SampleRows &rows, DenseMap<Value, int64_t> &rowsOfPrepare) {
    auto loss = getOperation().lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    Value weights = *findStepWeights(loss);
    int64_t count = batch * microBatches * rows.of(weights);
    for (int64_t size : cast<RankedTensorType>(weights.getType()).getShape())
      count *= ShapedType::isDynamic(size) ? 1 : size;
    buildPrepare(loss, weights, count, rowsOfPrepare, rows);
  }

  // Finds the form of the loss and records it: after binding, a mean over the batch is a sum too.
  FailureOr<LossForm> noteLossForm() {
    auto loss = getOperation().lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    if (!loss || loss.getResultTypes().empty())
      return LossForm::Mean;
    FailureOr<LossForm> form = findLossForm(loss);
    if (succeeded(form) && *form == LossForm::Sum)
      loss->setAttr(graph::kAddsUpAttr, UnitAttr::get(&getContext()));
    return form;
  }
};

} // namespace
} // namespace dtc

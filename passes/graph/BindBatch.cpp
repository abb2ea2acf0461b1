// Gives the batch a size (pass dtc-bind-batch).
#include "passes/graph/Passes.h"

#include "dialects/graph/Inputs.h"
#include "passes/graph/LossForm.h"
#include "passes/graph/SampleRows.h"

namespace dtc {
#define GEN_PASS_DEF_BINDBATCH
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

// The type with `rows` in its batch dim.
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

// A mean becomes a sum whose scale keeps the global count.
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

struct BindBatch : impl::BindBatchBase<BindBatch> {
  using BindBatchBase::BindBatchBase;

  void runOnOperation() override {
    if (batch < 1) {
      getOperation().emitError("dtc-bind-batch needs a batch of 1 or more, not ")
          << batch.getValue();
      return signalPassFailure();
    }
    FailureOr<SampleRows> rows = SampleRows::read(getOperation());
    if (failed(rows) || failed(noteLossForm()))
      return signalPassFailure();
    auto bindValue = [&](Value value) {
      value.setType(bind(value.getType(), batch * rows->of(value)));
    };
    getOperation().walk([&](Operation *op) {
      llvm::for_each(op->getResults(), bindValue);
      if (auto func = dyn_cast<graph::FuncOp>(op))
        llvm::for_each(func.getArguments(), bindValue);
    });
    for (auto func : getOperation().getOps<graph::FuncOp>()) {
      Block &body = func.getBody().front();
      func.setFunctionType(FunctionType::get(&getContext(), body.getArgumentTypes(),
                                             body.getTerminator()->getOperandTypes()));
    }
    getOperation().walk([](graph::ReduceOp reduce) { bindMean(reduce); });
    getOperation()->setAttr(graph::kSamplesAttr, Builder(&getContext()).getI64IntegerAttr(batch));
  }

private:
  // Later, a mean over the batch is a sum too.
  LogicalResult noteLossForm() {
    auto loss = getOperation().lookupSymbol<graph::FuncOp>(graph::kLossFunction);
    if (!loss || loss.getResultTypes().empty())
      return success();
    FailureOr<LossForm> form = findLossForm(loss);
    if (succeeded(form) && *form == LossForm::Sum)
      loss->setAttr(graph::kAddsUpAttr, UnitAttr::get(&getContext()));
    return form;
  }
};

} // namespace
} // namespace dtc

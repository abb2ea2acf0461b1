// Splits cross_entropy into ops that can be split over words.
#include "passes/shard/Partition.h"

using namespace mlir;

namespace dtc {

void decomposeCrossEntropy(ModuleOp module) {
  SmallVector<graph::CrossEntropyOp> ops;
  module.walk([&](graph::CrossEntropyOp op) { ops.push_back(op); });
  for (graph::CrossEntropyOp op : ops) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type rowType = op.getLse().getType();
    int64_t words = cast<RankedTensorType>(op.getLogits().getType()).getRank() - 1;
    Value max = graph::ReduceOp::create(
        builder, loc, rowType, op.getLogits(),
        graph::ReduceKindAttr::get(op.getContext(), graph::ReduceKind::Max),
        builder.getDenseI64ArrayAttr({words}), builder.getF64FloatAttr(1), ArrayAttr());
    Value sum = graph::SumExpOp::create(builder, loc, rowType, op.getLogits(), max, ArrayAttr());
    Value picked =
        graph::PickOp::create(builder, loc, rowType, op.getLogits(), op.getTargets(), ArrayAttr());
    Value lse = graph::AddOp::create(builder, loc, rowType,
                                     graph::LogOp::create(builder, loc, rowType, sum), max);
    Value loss = graph::SubtractOp::create(builder, loc, rowType, lse, picked);
    if (op.getIgnoringAttr())
      loss = graph::MultiplyOp::create(
          builder, loc, rowType, loss,
          graph::CountedOp::create(builder, loc, rowType, op.getTargets(), op.getIgnoringAttr()));
    op.replaceAllUsesWith(ValueRange{loss, lse});
    op.erase();
  }
}

} // namespace dtc

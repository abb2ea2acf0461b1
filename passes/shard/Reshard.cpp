// Emits the steps that move a tensor from one placement to another.
#include "passes/shard/Reshard.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ShapeOps.h"
#include "passes/shard/ReshardSteps.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace dtc {
namespace {

shard::ReductionKindAttr toShardKind(MLIRContext *context, graph::ReduceKind kind) {
  return shard::ReductionKindAttr::get(context, kind == graph::ReduceKind::Max
                                                    ? shard::ReductionKind::Max
                                                    : shard::ReductionKind::Sum);
}

// Emits the ops of one step after another.
class StepEmitter {
public:
  StepEmitter(OpBuilder &builder, Location loc, Type element)
      : builder(builder), loc(loc), element(element) {}

  Value emit(const ReshardStep &step, Value value) {
    using Kind = ReshardStep::Kind;
    auto type = RankedTensorType::get(step.after, element);
    auto grid = FlatSymbolRefAttr::get(builder.getContext(), graph::kMeshName);
    SmallVector<int16_t> axes(step.axes.begin(), step.axes.end());
    auto group = builder.getDenseI16ArrayAttr(axes);
    auto reduction = toShardKind(builder.getContext(), step.reduce);
    IntegerAttr dim = builder.getIndexAttr(step.dim);
    switch (step.kind) {
    case Kind::AllReduce:
      return shard::AllReduceOp::create(builder, loc, type, grid, group, value, reduction);
    case Kind::ReduceScatter:
      return shard::ReduceScatterOp::create(builder, loc, type, grid, group, value, reduction, dim);
    case Kind::AllGather:
      return shard::AllGatherOp::create(builder, loc, type, grid, group, value, dim);
    case Kind::AllToAll:
      return shard::AllToAllOp::create(builder, loc, type, grid, group, value,
                                       builder.getIndexAttr(step.newDim), dim);
    case Kind::Slice:
      return shard::AllSliceOp::create(builder, loc, type, value, graph::kMeshName,
                                       ArrayRef<shard::GridAxis>(axes), step.dim);
    case Kind::Pad:
      return graph::PadOp::create(
          builder, loc, type, value, builder.getI64IntegerAttr(step.dim),
          builder.getI64IntegerAttr(0),
          builder.getI64IntegerAttr(step.after[step.dim] - step.before[step.dim]));
    case Kind::Crop:
      return slice(value, type, step.dim, 0);
    case Kind::Reorder:
      return reorder(step, value, type);
    case Kind::Scale:
      return graph::ScaleOp::create(
          builder, loc, value.getType(), value, builder.getF64FloatAttr(step.factor),
          builder.getDenseI64ArrayAttr(SmallVector<int64_t>(step.axes.begin(), step.axes.end())));
    }
    llvm_unreachable("all kinds of steps are above");
  }

private:
  Value slice(Value value, RankedTensorType type, int64_t dim, int64_t start) {
    return graph::SliceOp::create(builder, loc, type, value, builder.getI64IntegerAttr(dim),
                                  builder.getI64IntegerAttr(start),
                                  builder.getI64IntegerAttr(type.getDimSize(dim)), UnitAttr());
  }

  // Reorders blocks of a dim; neighbouring blocks that stay neighbours move as one.
  Value reorder(const ReshardStep &step, Value value, RankedTensorType type) {
    int64_t size = type.getDimSize(step.dim) / static_cast<int64_t>(step.blocks.size());
    SmallVector<Value> pieces;
    for (size_t first = 0; first < step.blocks.size();) {
      size_t end = first + 1;
      while (end < step.blocks.size() && step.blocks[end] == step.blocks[end - 1] + 1)
        ++end;
      SmallVector<int64_t> shape(type.getShape());
      shape[step.dim] = static_cast<int64_t>(end - first) * size;
      pieces.push_back(
          slice(value, RankedTensorType::get(shape, element), step.dim, step.blocks[first] * size));
      first = end;
    }
    return graph::ConcatOp::create(builder, loc, type, pieces, builder.getI64IntegerAttr(step.dim),
                                   UnitAttr());
  }

  OpBuilder &builder;
  Location loc;
  Type element;
};

} // namespace

Value reshard(OpBuilder &builder, Location loc, Value local, RankedTensorType global,
              const Placement &from, const Placement &to, const Mesh &mesh,
              graph::CommunicationAttr communication) {
  StepEmitter emitter(builder, loc, global.getElementType());
  for (const ReshardStep &step : reshardSteps(global.getShape(), from, to, mesh)) {
    local = emitter.emit(step, local);
    if (step.communicates())
      local.getDefiningOp()->setAttr(graph::kCommunicationAttr, communication);
  }
  return local;
}

} // namespace dtc

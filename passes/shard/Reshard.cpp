// The one routine that moves a tensor from one placement to another.
#include "passes/shard/Reshard.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dtc {
namespace {

shard::ReductionKind toShardKind(graph::ReduceKind kind) {
  return kind == graph::ReduceKind::Max ? shard::ReductionKind::Max : shard::ReductionKind::Sum;
}

// Carries a local value through one axis change after another, keeping track of its current
// placement.
class Resharder {
public:
  Resharder(OpBuilder &builder, Location loc, Value value, RankedTensorType global,
            const Placement &from, const Mesh &mesh, graph::CommunicationAttr communication)
      : builder(builder), loc(loc), value(value), global(global), placement(from), mesh(mesh),
        communication(communication) {}

  Value get() const { return value; }
  AxisPlacement at(unsigned axis) const { return placement[axis]; }

  void allReduce(unsigned axis) {
    value = shard::AllReduceOp::create(
        builder, loc, value.getType(), grid(), axes(axis), value,
        shard::ReductionKindAttr::get(builder.getContext(), toShardKind(placement[axis].reduce)));
    markCollective();
    placement[axis] = AxisPlacement::replicate();
  }

  void reduceScatter(unsigned axis, int64_t dim) {
    graph::ReduceKind kind = placement[axis].reduce;
    padFor(axis, dim);
    value = shard::ReduceScatterOp::create(
        builder, loc, partType(axis, dim), grid(), axes(axis), value,
        shard::ReductionKindAttr::get(builder.getContext(), toShardKind(kind)),
        builder.getIndexAttr(dim));
    markCollective();
    placement[axis] = AxisPlacement::shard(dim);
  }

  void allGather(unsigned axis) {
    int64_t dim = placement[axis].dim;
    SmallVector<int64_t> shape(type().getShape());
    shape[dim] *= mesh.sizes[axis];
    value = shard::AllGatherOp::create(builder, loc, withShape(shape), grid(), axes(axis), value,
                                       builder.getIndexAttr(dim));
    markCollective();
    placement[axis] = AxisPlacement::replicate();
    // Drops padding; where the dim is still split over another axis the padding belongs to that
    // split.
    int64_t wanted = localType(global, placement, mesh).getDimSize(dim);
    if (wanted < shape[dim]) {
      shape[dim] = wanted;
      value = graph::SliceOp::create(builder, loc, withShape(shape), value,
                                     builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(0),
                                     builder.getI64IntegerAttr(wanted), UnitAttr());
    }
  }

  void allSlice(unsigned axis, int64_t dim) {
    padFor(axis, dim);
    value = shard::AllSliceOp::create(builder, loc, partType(axis, dim), value, graph::kMeshName,
                                      ArrayRef<shard::GridAxis>{static_cast<shard::GridAxis>(axis)},
                                      dim);
    placement[axis] = AxisPlacement::shard(dim);
  }

  void allToAll(unsigned axis, int64_t dim) {
    int64_t from = placement[axis].dim, parts = mesh.sizes[axis];
    Placement without = placement;
    without[axis] = AxisPlacement::replicate();
    RankedTensorType whole = localType(global, without, mesh);
    if (whole.getDimSize(from) % parts != 0 || whole.getDimSize(dim) % parts != 0) {
      allGather(axis);
      allSlice(axis, dim);
      return;
    }
    SmallVector<int64_t> shape(type().getShape());
    shape[from] *= parts;
    shape[dim] /= parts;
    value = shard::AllToAllOp::create(builder, loc, withShape(shape), grid(), axes(axis), value,
                                      builder.getIndexAttr(dim), builder.getIndexAttr(from));
    markCollective();
    placement[axis] = AxisPlacement::shard(dim);
  }

  // Moves every axis that splits one dim now and another in `to`, each when its new dim is free.
  void exchange(const Placement &to) {
    SmallVector<unsigned> waiting;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      if (mesh.sizes[axis] > 1 && placement[axis].isShard() && to[axis].isShard() &&
          placement[axis] != to[axis])
        waiting.push_back(axis);
    while (!waiting.empty()) {
      auto *ready = llvm::find_if(waiting, [&](unsigned axis) { return !isSplit(to[axis].dim); });
      if (ready == waiting.end()) {
        // They wait for each other: one makes way, and takes its part when all have moved.
        ready = waiting.begin();
        allGather(*ready);
      } else {
        allToAll(*ready, to[*ready].dim);
      }
      waiting.erase(ready);
    }
  }

  void makePartial(unsigned axis, graph::ReduceKind kind) {
    assert(kind == graph::ReduceKind::Sum && "only sums are split evenly");
    value = graph::ScaleOp::create(builder, loc, value,
                                   builder.getF64FloatAttr(1.0 / mesh.sizes[axis]));
    placement[axis] = AxisPlacement::partial(kind);
  }

private:
  // Of the op that has just made `value`.
  void markCollective() {
    value.getDefiningOp()->setAttr(graph::kCommunicationAttr, communication);
  }
  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  RankedTensorType withShape(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, global.getElementType());
  }
  FlatSymbolRefAttr grid() const {
    return FlatSymbolRefAttr::get(builder.getContext(), graph::kMeshName);
  }
  DenseI16ArrayAttr axes(unsigned axis) const {
    return builder.getDenseI16ArrayAttr({static_cast<int16_t>(axis)});
  }
  RankedTensorType partType(unsigned axis, int64_t dim) const {
    SmallVector<int64_t> shape(type().getShape());
    shape[dim] /= mesh.sizes[axis];
    return withShape(shape);
  }
  bool isSplit(int64_t dim) const {
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      if (mesh.sizes[axis] > 1 && placement[axis].isShard() && placement[axis].dim == dim)
        return true;
    return false;
  }
  void padFor(unsigned axis, int64_t dim) {
    SmallVector<int64_t> shape(type().getShape());
    int64_t padded = llvm::alignTo(shape[dim], mesh.sizes[axis]), extra = padded - shape[dim];
    if (extra == 0)
      return;
    shape[dim] = padded;
    value =
        graph::PadOp::create(builder, loc, withShape(shape), value, builder.getI64IntegerAttr(dim),
                             builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(extra));
  }

  OpBuilder &builder;
  Location loc;
  Value value;
  RankedTensorType global;
  Placement placement;
  const Mesh &mesh;
  graph::CommunicationAttr communication;
};

} // namespace

Value reshard(OpBuilder &builder, Location loc, Value local, RankedTensorType global,
              const Placement &from, const Placement &to, const Mesh &mesh,
              graph::CommunicationAttr communication) {
  Resharder resharder(builder, loc, local, global, from, mesh, communication);
  // Gathers first and slices last, so that no dim is ever split over two axes: one of them could
  // not leave it again, as what its ranks hold is not one piece.
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (mesh.sizes[axis] > 1 && from[axis].isShard() && !to[axis].isShard())
      resharder.allGather(axis);
  resharder.exchange(to);
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
    const AxisPlacement now = resharder.at(axis);
    if (mesh.sizes[axis] == 1 || now == to[axis])
      continue;
    if (now.isPartial() && to[axis].isShard())
      resharder.reduceScatter(axis, to[axis].dim);
    else if (now.isPartial())
      resharder.allReduce(axis);
    else if (now.isReplicate() && to[axis].isShard())
      resharder.allSlice(axis, to[axis].dim);
    if (to[axis].isPartial())
      resharder.makePartial(axis, to[axis].reduce);
  }
  return resharder.get();
}

double localBytes(RankedTensorType global, const Placement &placement, const Mesh &mesh) {
  RankedTensorType local = localType(global, placement, mesh);
  double elements = 1;
  for (int64_t size : local.getShape())
    elements *= ShapedType::isDynamic(size) ? 1 : size;
  return elements * global.getElementTypeBitWidth() / 8;
}

// What a collective costs before its first byte, in bytes: ten microseconds at ten gigabytes a
// second.
static constexpr double kCollectiveBytes = 100e3;

double reshardBytes(RankedTensorType global, const Placement &from, const Placement &to,
                    const Mesh &mesh) {
  double total = 0;
  Placement now = from;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
    double parts = mesh.sizes[axis];
    if (parts == 1 || from[axis] == to[axis])
      continue;
    double before = localBytes(global, now, mesh);
    now[axis] = to[axis];
    if (from[axis].isPartial() || from[axis].isShard())
      total += kCollectiveBytes;
    double after = localBytes(global, now, mesh);
    if (from[axis].isPartial())
      total += (to[axis].isShard() ? 1 : 2) * before * (parts - 1) / parts;
    else if (from[axis].isShard())
      total += to[axis].isShard() ? before * (parts - 1) / parts : after * (parts - 1) / parts;
  }
  return total;
}

} // namespace dtc

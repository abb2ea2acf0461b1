// Exec lowering of upstream shard collectives. The runtime's collectives move whole blocks in order
// of rank, so a collective along an inner dim is packed before or unpacked after.
#include "passes/schedule/EventInsertion.h"
#include "passes/schedule/ExecEmitter.h"
#include "passes/schedule/ExecLoweringInterface.h"
#include "passes/schedule/ExecutionLabels.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace dtc;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// The ranks of a collective and its role; `async` if compute does not wait for it.
struct Group {
  SmallVector<int64_t> axes;
  int64_t ranks = 1;
  exec::CollectiveRole role = exec::CollectiveRole::Activation;
  bool async = false;
  std::optional<int64_t> execution; // set if every micro-batch runs it beside compute
};

// Reads the attribute that partitioning set on the collective. A group of one rank communicates
// nothing and needs none.
LogicalResult readCommunication(Operation *op, Group &group) {
  if (group.ranks == 1 || !graph::isCollective(op))
    return success();
  auto communication = op->getAttrOfType<graph::CommunicationAttr>(graph::kCommunicationAttr);
  if (!communication)
    return op->emitOpError() << "lacks '" << graph::kCommunicationAttr
                             << "', which says what it moves; dtc-partition sets it";
  std::optional<exec::CollectiveRole> role =
      exec::symbolizeCollectiveRole(graph::stringifyCollectiveRole(communication.getRole()));
  assert(role && "both dialects have the same roles");
  group.role = *role;
  group.async = communication.getAsync();
  auto function = op->getParentOfType<graph::FuncOp>();
  if (group.async && function && function.getSymName() == graph::kMicrobatchFunction) {
    auto execution = op->getAttrOfType<IntegerAttr>(kExecutionAttr);
    group.execution = execution ? execution.getInt() : kOutsideOfBlocks;
  }
  return success();
}

// Returns the group of a collective over mesh axes; without axes a rank is alone (as in upstream
// canonicalization).
FailureOr<Group> groupOf(Operation *op, ArrayRef<int16_t> axes, ExecEmitter &emitter) {
  if (failed(getStaticType(op, op->getOperand(0))) || failed(getStaticType(op, op->getResult(0))))
    return failure();
  ArrayRef<int64_t> mesh = emitter.getMesh();
  Group group;
  for (int16_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(mesh.size()))
      return op->emitOpError() << "is over mesh axis " << axis << "; the mesh has " << mesh.size();
    if (!group.axes.empty() && group.axes.back() >= axis)
      return op->emitOpError() << "has grid_axes [" << axes
                               << "]; want them ascending, outermost first";
    group.axes.push_back(axis);
    group.ranks *= mesh[axis];
  }
  if (failed(readCommunication(op, group)))
    return failure();
  return group;
}

FailureOr<exec::ReduceKind> reduceKind(Operation *op, shard::ReductionKind kind) {
  if (kind == shard::ReductionKind::Sum)
    return exec::ReduceKind::Sum;
  if (kind == shard::ReductionKind::Max)
    return exec::ReduceKind::Max;
  return op->emitOpError() << "reduces by " << shard::stringifyReductionKind(kind)
                           << "; the runtime reduces by sum and max";
}

// Returns a staging buffer of the collective with as many elements as `like`.
Value staging(ExecEmitter &emitter, RankedTensorType like, StringRef name) {
  return emitter.createBuffer(name, exec::BufferKind::Communication, like.getElementType(),
                              like.getNumElements());
}

void emitCollective(ExecEmitter &emitter, exec::CollectiveKind kind, exec::ReduceKind reduce,
                    Value src, Value dst, const Group &group, int64_t count, Value named) {
  auto collective = exec::CollectiveOp::create(
      emitter.instructions(), kind, reduce, src, dst, group.axes, count,
      exec::getName(emitter.lookup(named)), group.role, group.async, /*over=*/exec::RanksAttr());
  setExecution(collective, group.execution);
}

// Returns the box that packs [outer, ranks, part, inner] (row-major) to [ranks, outer, part,
// inner]; `part` is one rank's share of dim `dim`. Swapping source and destination strides unpacks.
Box packBox(ArrayRef<int64_t> whole, int64_t dim, int64_t ranks) {
  int64_t outer = numElements(whole.take_front(dim));
  int64_t part = whole[dim] / ranks * numElements(whole.drop_front(dim + 1));
  return {{ranks, outer, part}, {part, ranks * part, 1}, {outer * part, part, 1}};
}

Box reversed(Box box) {
  std::swap(box.srcStrides, box.dstStrides);
  return box;
}

bool isOutermost(ArrayRef<int64_t> shape, int64_t dim) {
  return numElements(shape.take_front(dim)) == 1;
}

// Returns `src`, whole along `dim`, as blocks in order of rank.
Value packed(ExecEmitter &emitter, Value src, RankedTensorType type, int64_t dim, int64_t ranks) {
  if (isOutermost(type.getShape(), dim))
    return src;
  Value pack = staging(emitter, type, "pack");
  emitter.copy(src, 0, pack, 0, packBox(type.getShape(), dim, ranks));
  return pack;
}

struct LowerAllReduce : ExecLoweringInterface::ExternalModel<LowerAllReduce, shard::AllReduceOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto reduce = cast<shard::AllReduceOp>(op);
    FailureOr<Group> group = groupOf(op, reduce.getGridAxes(), emitter);
    FailureOr<exec::ReduceKind> kind = reduceKind(op, reduce.getReduction());
    if (failed(group) || failed(kind))
      return failure();
    Value src = emitter.lookup(reduce.getInput());
    if (group->ranks == 1) {
      emitter.alias(reduce.getResult(), src);
      return success();
    }
    emitCollective(emitter, exec::CollectiveKind::AllReduce, *kind, src,
                   emitter.define(reduce.getResult()), *group,
                   typeOf(reduce.getInput()).getNumElements(), reduce.getInput());
    return success();
  }
};

struct LowerAllGather : ExecLoweringInterface::ExternalModel<LowerAllGather, shard::AllGatherOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto gather = cast<shard::AllGatherOp>(op);
    FailureOr<Group> group = groupOf(op, gather.getGridAxes(), emitter);
    if (failed(group))
      return failure();
    Value src = emitter.lookup(gather.getInput());
    if (group->ranks == 1) {
      emitter.alias(gather.getResult(), src);
      return success();
    }
    int64_t dim = gather.getGatherAxis().getSExtValue();
    RankedTensorType type = typeOf(gather.getResult());
    Value dst = emitter.define(gather.getResult());
    bool outermost = isOutermost(type.getShape(), dim);
    Value gathered = outermost ? dst : staging(emitter, type, "gathered");
    emitCollective(emitter, exec::CollectiveKind::AllGather, exec::ReduceKind::Sum, src, gathered,
                   *group, typeOf(gather.getInput()).getNumElements(), gather.getInput());
    if (!outermost)
      emitter.copy(gathered, 0, dst, 0, reversed(packBox(type.getShape(), dim, group->ranks)));
    return success();
  }
};

struct LowerReduceScatter
    : ExecLoweringInterface::ExternalModel<LowerReduceScatter, shard::ReduceScatterOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto scatter = cast<shard::ReduceScatterOp>(op);
    FailureOr<Group> group = groupOf(op, scatter.getGridAxes(), emitter);
    FailureOr<exec::ReduceKind> kind = reduceKind(op, scatter.getReduction());
    if (failed(group) || failed(kind))
      return failure();
    Value src = emitter.lookup(scatter.getInput());
    if (group->ranks == 1) {
      emitter.alias(scatter.getResult(), src);
      return success();
    }
    int64_t dim = scatter.getScatterAxis().getSExtValue();
    Value blocks = packed(emitter, src, typeOf(scatter.getInput()), dim, group->ranks);
    emitCollective(emitter, exec::CollectiveKind::ReduceScatter, *kind, blocks,
                   emitter.define(scatter.getResult()), *group,
                   typeOf(scatter.getResult()).getNumElements(), scatter.getInput());
    return success();
  }
};

struct LowerAllToAll : ExecLoweringInterface::ExternalModel<LowerAllToAll, shard::AllToAllOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto exchange = cast<shard::AllToAllOp>(op);
    FailureOr<Group> group = groupOf(op, exchange.getGridAxes(), emitter);
    if (failed(group))
      return failure();
    Value src = emitter.lookup(exchange.getInput());
    if (group->ranks == 1) {
      emitter.alias(exchange.getResult(), src);
      return success();
    }
    int64_t ranks = group->ranks;
    int64_t split = exchange.getSplitAxis().getSExtValue();
    int64_t concat = exchange.getConcatAxis().getSExtValue();
    RankedTensorType in = typeOf(exchange.getInput()), out = typeOf(exchange.getResult());
    Value blocks = packed(emitter, src, in, split, ranks);
    Value dst = emitter.define(exchange.getResult());
    bool outermost = isOutermost(out.getShape(), concat);
    Value received = outermost ? dst : staging(emitter, out, "received");
    emitCollective(emitter, exec::CollectiveKind::AllToAll, exec::ReduceKind::Sum, blocks, received,
                   *group, in.getNumElements() / ranks, exchange.getInput());
    if (!outermost)
      emitter.copy(received, 0, dst, 0, reversed(packBox(out.getShape(), concat, ranks)));
    return success();
  }
};

// Lowers a slice to a copy whose source offset depends on the rank; it communicates nothing.
struct LowerAllSlice : ExecLoweringInterface::ExternalModel<LowerAllSlice, shard::AllSliceOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto slice = cast<shard::AllSliceOp>(op);
    FailureOr<Group> group = groupOf(op, slice.getGridAxes(), emitter);
    if (failed(group))
      return failure();
    Value src = emitter.lookup(slice.getInput());
    if (group->ranks == 1) {
      emitter.alias(slice.getResult(), src);
      return success();
    }
    int64_t dim = slice.getSliceAxis().getSExtValue();
    ArrayRef<int64_t> shape = typeOf(slice.getInput()).getShape();
    int64_t outer = numElements(shape.take_front(dim));
    int64_t inner = numElements(shape.drop_front(dim + 1)), size = shape[dim];
    int64_t part = size / group->ranks, stride = part * inner;
    SmallVector<std::pair<int64_t, int64_t>> terms;
    for (int64_t axis : llvm::reverse(group->axes)) {
      if (emitter.getMesh()[axis] > 1)
        terms.emplace_back(axis, stride);
      stride *= emitter.getMesh()[axis];
    }
    emitter.copy(src, exec::RankScalarAttr::getOfTerms(op->getContext(), 0, terms),
                 emitter.define(slice.getResult()), emitter.constant(0),
                 {{outer, part * inner}, {size * inner, 1}, {part * inner, 1}});
    return success();
  }
};

// A tensor passes to the next rank of a ring: a send, and a receive from the rank before.
//
// Returns the rings along a mesh axis: for each set of other coordinates, the ranks in order.
exec::RanksAttr ringsAlong(MLIRContext *context, StringRef name, ArrayRef<int64_t> mesh,
                           int64_t axis) {
  int64_t inside = numElements(mesh.drop_front(axis + 1)), size = mesh[axis];
  SmallVector<int64_t> members;
  for (int64_t first = 0; first < numElements(mesh); ++first)
    if (first / inside % size == 0)
      for (int64_t rank = 0; rank < size; ++rank)
        members.push_back(first + rank * inside);
  return exec::RanksAttr::get(context, name, size, members);
}

struct LowerShift : ExecLoweringInterface::ExternalModel<LowerShift, shard::ShiftOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto shift = cast<shard::ShiftOp>(op);
    ArrayRef<int64_t> mesh = emitter.getMesh();
    ArrayRef<int16_t> axes = shift.getGridAxes();
    if (failed(getStaticType(op, op->getOperand(0))))
      return failure();
    int64_t axis = axes.size() == 1 ? axes.front() : -1;
    if (axis < 0 || axis >= static_cast<int64_t>(mesh.size()) || mesh[axis] < 2 ||
        shift.getOffset() != 1 || !shift.getRotate())
      return op->emitOpError("passes a tensor otherwise than to the next of several ranks along "
                             "one axis, round their ring");
    auto communication = op->getAttrOfType<graph::CommunicationAttr>(graph::kCommunicationAttr);
    if (!communication)
      return op->emitOpError() << "lacks '" << graph::kCommunicationAttr
                               << "', which says what it moves; dtc-partition sets it";
    exec::CollectiveRole role =
        *exec::symbolizeCollectiveRole(graph::stringifyCollectiveRole(communication.getRole()));
    auto axisNames = emitter.getProgram().getAxisNames();
    std::string name = cast<StringAttr>(axisNames[axis]).getValue().str() + " ring";
    exec::RanksAttr rings = ringsAlong(op->getContext(), name, mesh, axis);
    Value src = emitter.lookup(shift.getInput()), dst = emitter.define(shift.getResult());
    auto send = exec::SendOp::create(emitter.instructions(), src, rings, /*shift=*/1,
                                     exec::getName(src), role);
    auto receive = exec::ReceiveOp::create(emitter.instructions(), dst, rings,
                                           /*shift=*/rings.getSize() - 1, exec::getName(src), role);
    for (Operation *transfer : {send.getOperation(), receive.getOperation()})
      transfer->setAttr(kRingLabel, UnitAttr::get(op->getContext()));
    return success();
  }
};
} // namespace

void dtc::registerCollectiveLowering(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, shard::ShardDialect *) {
    shard::AllReduceOp::attachInterface<LowerAllReduce>(*context);
    shard::AllGatherOp::attachInterface<LowerAllGather>(*context);
    shard::ReduceScatterOp::attachInterface<LowerReduceScatter>(*context);
    shard::AllToAllOp::attachInterface<LowerAllToAll>(*context);
    shard::AllSliceOp::attachInterface<LowerAllSlice>(*context);
    shard::ShiftOp::attachInterface<LowerShift>(*context);
  });
}

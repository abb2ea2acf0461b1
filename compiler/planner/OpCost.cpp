// What one op of a partitioned program does.
#include "compiler/planner/OpCost.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace dtc {
namespace {

bool contains(const graph::TensorLoops &tensor, unsigned loop) {
  for (const graph::DimLoops &loops : tensor)
    if (llvm::is_contained(loops, loop))
      return true;
  return false;
}

// m, n, k and batch of a product of two operands: a loop of both operands and the result is batch,
// of the left and the result m, of the right and the result n, of both operands only k.
OpWork productOf(const graph::OpRule &rule, const PrecisionModel &precision) {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  for (auto [index, loop] : llvm::enumerate(rule.loops)) {
    bool a = contains(rule.operands[0], index), b = contains(rule.operands[1], index);
    bool c = contains(rule.results[0], index);
    int64_t size = ShapedType::isDynamic(loop.size) ? 1 : loop.size;
    (a && b && c ? batch : a && c ? m : b && c ? n : k) *= size;
  }
  OpWork work = productWork(m, n, k, batch, precision.type);
  return work;
}

OpWork attentionOf(Operation *op, const graph::OpRule &rule, const PrecisionModel &precision) {
  ArrayRef<int64_t> q = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  ArrayRef<int64_t> k = cast<RankedTensorType>(op->getOperand(1).getType()).getShape();
  OpWork work;
  work.kind = WorkKind::Attention;
  work.type = precision.type;
  work.batch = q[0] * q[2];
  work.m = q[1];
  work.n = k[1];
  work.k = q[3];
  work.flops = rule.flopsPerPoint * (op->hasAttr("causal") ? 0.5 : 1.0);
  for (const graph::Loop &loop : rule.loops)
    work.flops *= static_cast<double>(loop.size);
  for (Value value : op->getOperands())
    work.bytes += tensorBytes(value.getType()) * precision.activationScale;
  for (Value value : op->getResults())
    work.bytes += tensorBytes(value.getType()) * precision.activationScale;
  return work;
}

bool isView(Operation *op) {
  return isa<graph::ReshapeOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
}

} // namespace

double tensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  double elements = 1;
  for (int64_t size : tensor.getShape())
    elements *= ShapedType::isDynamic(size) ? 1 : static_cast<double>(size);
  return elements * tensor.getElementTypeBitWidth() / 8;
}

bool isFusible(Operation *op) { return isa_and_nonnull<graph::PointwiseOpInterface>(op); }

OpWork workOf(Operation *op, const PrecisionModel &precision) {
  OpWork work;
  work.type = precision.type;
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface || isView(op))
    return work;
  graph::OpRule rule = interface.getRule();
  if (rule.matrixProduct)
    return op->getNumOperands() == 2 ? productOf(rule, precision)
                                     : attentionOf(op, rule, precision);
  // What passes between joined ops stays in registers.
  for (Value operand : op->getOperands())
    if (!(isFusible(op) && isFusible(operand.getDefiningOp())))
      work.bytes += tensorBytes(operand.getType()) * precision.activationScale;
  for (Value result : op->getResults()) {
    bool stays = isFusible(op) && llvm::all_of(result.getUsers(), isFusible) && result.hasOneUse();
    if (!stays)
      work.bytes += tensorBytes(result.getType()) * precision.activationScale;
  }
  return work;
}

std::optional<CollectiveWork> collectiveOf(Operation *op) {
  auto make = [](CollectiveKind kind, Type type, ArrayRef<int16_t> axes) {
    CollectiveWork work{kind, tensorBytes(type), {}};
    work.axes.append(axes.begin(), axes.end());
    return work;
  };
  if (auto reduce = dyn_cast<shard::AllReduceOp>(op))
    return make(CollectiveKind::AllReduce, reduce.getInput().getType(), reduce.getGridAxes());
  if (auto scatter = dyn_cast<shard::ReduceScatterOp>(op))
    return make(CollectiveKind::ReduceScatter, scatter.getInput().getType(), scatter.getGridAxes());
  if (auto gather = dyn_cast<shard::AllGatherOp>(op))
    return make(CollectiveKind::AllGather, gather.getResult().getType(), gather.getGridAxes());
  if (auto exchange = dyn_cast<shard::AllToAllOp>(op))
    return make(CollectiveKind::AllToAll, exchange.getInput().getType(), exchange.getGridAxes());
  return std::nullopt;
}

RankGroup groupOf(ArrayRef<int64_t> axes, const Mesh &mesh) {
  RankGroup group;
  for (int64_t axis : axes) {
    int64_t stride = 1;
    for (size_t inner = axis + 1; inner < mesh.numAxes(); ++inner)
      stride *= mesh.sizes[inner];
    group.push_back({mesh.sizes[axis], stride});
  }
  return group;
}

} // namespace dtc

// What ops of a partitioned program are to the cost model.
#include "compiler/workload/OpFacts.h"

#include "passes/shard/Mesh.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace dtc {

double tensorBytes(Type type) {
  if (!isa<RankedTensorType, graph::StackType>(type))
    return 0;
  RankedTensorType tensor = graph::tensorOf(type);
  double elements = 1;
  for (int64_t size : tensor.getShape())
    elements *= ShapedType::isDynamic(size) ? 1 : static_cast<double>(size);
  return elements * tensor.getElementTypeBitWidth() / 8;
}

bool isFusible(Operation *op) { return isa_and_nonnull<graph::PointwiseOpInterface>(op); }

bool isLoss(Operation *op) {
  return isa<graph::CrossEntropyOp, graph::SumExpOp, graph::CrossEntropyGradOp>(op);
}

bool isComposite(Operation *op) {
  return isa<graph::RmsNormOp, graph::RmsNormGradOp, graph::RmsNormParamGradOp, graph::RotaryOp>(
      op);
}

bool isJoined(Operation *op) {
  return isFusible(op) && llvm::any_of(op->getOperands(), [](Value operand) {
           return isFusible(operand.getDefiningOp());
         });
}

ProductLoop productLoop(const graph::OpRule &rule, unsigned loop) {
  auto isIn = [&](const graph::TensorLoops &tensor) {
    return llvm::any_of(tensor,
                        [&](const graph::DimLoops &dim) { return llvm::is_contained(dim, loop); });
  };
  bool a = isIn(rule.operands[0]), b = isIn(rule.operands[1]), c = isIn(rule.results[0]);
  return a && b && c ? ProductLoop::Batch
         : a && c    ? ProductLoop::M
         : b && c    ? ProductLoop::N
                     : ProductLoop::K;
}

std::optional<CollectiveWork> collectiveOf(Operation *op) {
  if (auto reduce = dyn_cast<shard::AllReduceOp>(op))
    return CollectiveWork{CollectiveKind::AllReduce, tensorBytes(reduce.getInput().getType())};
  if (auto scatter = dyn_cast<shard::ReduceScatterOp>(op))
    return CollectiveWork{CollectiveKind::ReduceScatter, tensorBytes(scatter.getInput().getType())};
  if (auto gather = dyn_cast<shard::AllGatherOp>(op))
    return CollectiveWork{CollectiveKind::AllGather, tensorBytes(gather.getResult().getType())};
  if (auto exchange = dyn_cast<shard::AllToAllOp>(op))
    return CollectiveWork{CollectiveKind::AllToAll, tensorBytes(exchange.getInput().getType())};
  return std::nullopt;
}

RankSpan partOfTensorGroup(Operation *collective) {
  auto axes = collective->getAttrOfType<DenseI16ArrayAttr>("grid_axes");
  FailureOr<Mesh> mesh = readMesh(collective->getParentOfType<ModuleOp>());
  assert(axes && succeeded(mesh) && "collectives are over axes of the module's mesh");
  // From the inside out. Neighbouring axes are one span; others do not come together.
  RankSpan part{1, 1};
  int64_t stride = 1;
  SmallVector<unsigned, 2> tensorAxes = mesh->axesOf(AxisRole::Tensor);
  for (unsigned axis : llvm::reverse(tensorAxes)) {
    if (llvm::is_contained(axes.asArrayRef(), static_cast<int16_t>(axis))) {
      if (part.size == 1)
        part.stride = stride;
      part.size *= mesh->sizes[axis];
    }
    stride *= mesh->sizes[axis];
  }
  return part.size == stride ? RankSpan{0, 1} : part;
}

} // namespace dtc

// Reads the costs of ops of a partitioned program.
#include "compiler/price/workload/OpFacts.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
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

bool isJoined(Operation *op) {
  return isFusible(op) && llvm::any_of(op->getOperands(), [](Value operand) {
           return isFusible(operand.getDefiningOp());
         });
}

bool hasLoop(const graph::OpRule &rule, const graph::TensorLoops &tensor, graph::ProductLoop kind) {
  return llvm::any_of(tensor, [&](const graph::DimLoops &dim) {
    return llvm::any_of(dim, [&](unsigned loop) { return rule.productLoops[loop] == kind; });
  });
}

static WorkKind workKindOf(graph::OpKind kind) {
  switch (kind) {
  case graph::OpKind::Product:
    return WorkKind::Product;
  case graph::OpKind::Attention:
    return WorkKind::Attention;
  case graph::OpKind::Memory:
  case graph::OpKind::View:
  case graph::OpKind::Normalisation:
  case graph::OpKind::Dispatch:
  case graph::OpKind::Loss:
    return WorkKind::Memory;
  }
  return WorkKind::Memory;
}

CellOp cellOpOf(Operation *op, const graph::OpRule &rule) {
  CellOp cellOp;
  cellOp.name = op->getName().stripDialect().str();
  cellOp.kind = workKindOf(rule.kind);
  cellOp.phase = rule.isGradient ? CellPhase::BackwardInput : CellPhase::Forward;
  cellOp.causal = rule.isCausal;
  cellOp.isLoss = rule.kind == graph::OpKind::Loss;
  cellOp.isDispatch = rule.kind == graph::OpKind::Dispatch;
  cellOp.isComposite = rule.isComposite;
  cellOp.joined = isJoined(op);
  cellOp.isInPlace = isa<graph::SliceOp, graph::ConcatOp>(op);
  return cellOp;
}

void setSizes(CellOp &cellOp, const graph::OpRule &rule, ArrayRef<int64_t> sizes,
              ArrayRef<uint8_t> bits) {
  cellOp.m = cellOp.n = cellOp.k = cellOp.batch = 1;
  cellOp.flops = rule.flopsPerPoint;
  for (auto [size, scale, kind] : llvm::zip(sizes, bits, rule.productLoops)) {
    auto [ofKind, scaleOfKind] =
        kind == graph::ProductLoop::Batch ? std::tie(cellOp.batch, cellOp.batchScale)
        : kind == graph::ProductLoop::M   ? std::tie(cellOp.m, cellOp.mScale)
        : kind == graph::ProductLoop::N   ? std::tie(cellOp.n, cellOp.nScale)
                                          : std::tie(cellOp.k, cellOp.kScale);
    ofKind *= size;
    scaleOfKind |= scale;
    cellOp.flops *= static_cast<double>(size);
    cellOp.flopsScale |= scale;
  }
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
  // Merges axes from the inside out. Neighbouring axes form one span; other combinations do not
  // occur.
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

// What the ways of splitting one op over tensor parallelism cost.
#include "compiler/placement/PlacementCosts.h"

#include "compiler/workload/ApplyStack.h"
#include "compiler/workload/OpFacts.h"
#include "passes/shard/ReshardSteps.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace dtc {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The optimizer reads and writes a parameter's state about twice each.
constexpr double kUpdateTraffic = 2;

} // namespace

std::vector<int> PlacementCosts::choicesOf(Operation *op, const graph::OpRule &rule) const {
  std::vector<int> choices{split::kNone};
  SmallVector<uint8_t, 8> bits = roles.ofLoops(op, rule);
  // A loop over a sequence whose tokens went through experts has the bit of samples, too.
  auto isOfOtherAxis = [&](size_t loop) {
    return bits[loop] == ScalesWithBatch || (bits[loop] & (ScalesWithExperts | ScalesWithCapacity));
  };
  for (size_t loop = 0; loop < rule.loops.size(); ++loop)
    if (!isOfOtherAxis(loop) && rule.loops[loop].size >= parts() &&
        canSplitLoop(rule, static_cast<int>(loop), parts()))
      choices.push_back(static_cast<int>(loop));
  if (rule.jointlyLinear)
    choices.push_back(split::kPartial);
  return choices;
}

double PlacementCosts::localElements(Type type, const AxisPlacement &placement) const {
  double elements = 1;
  for (int64_t size : localType(cast<RankedTensorType>(type), {placement}, mesh).getShape())
    elements *= static_cast<double>(size);
  return elements;
}

double PlacementCosts::keptBytes(Type type, const AxisPlacement &placement) const {
  auto tensor = cast<RankedTensorType>(type);
  bool isFloat = tensor.getElementType().isF32();
  return localElements(type, placement) * tensor.getElementTypeBitWidth() / 8 *
         (isFloat ? precision.activationShare : 1);
}

double PlacementCosts::parameterBytes(Type type, const AxisPlacement &placement) const {
  return localElements(type, placement) *
         (precision.parameterBytes + precision.gradientBytes + precision.optimizerBytes);
}

double PlacementCosts::updateSeconds(Type type, const AxisPlacement &placement) const {
  OpWork work;
  work.bytes = kUpdateTraffic * parameterBytes(type, placement);
  return secondsOf(work, topology.device);
}

double PlacementCosts::opSeconds(Operation *op, const graph::OpRule &rule, int choice) const {
  if (rule.loops.empty() || isa<graph::ReshapeOp>(op))
    return 0; // scalars and views
  CellOp cellOp;
  cellOp.name = op->getName().stripDialect().str();
  cellOp.isLoss = isLoss(op);
  cellOp.isComposite = isComposite(op);
  if (rule.matrixProduct && op->getNumOperands() == 2)
    addProduct(cellOp, rule, choice);
  else if (rule.matrixProduct)
    addAttention(cellOp, op, rule, choice);
  bool fusible = isFusible(op);
  auto add = [&](Type type, const AxisPlacement &placement, bool stays) {
    double width = cast<RankedTensorType>(type).getElementTypeBitWidth() / 8.0;
    (stays ? cellOp.looseBytes : cellOp.bytes).parts[0] += localElements(type, placement) * width;
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    add(operand.getType(), operandUnder(rule, index, choice),
        fusible && isFusible(operand.getDefiningOp()));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    add(result.getType(), resultUnder(rule, index, choice),
        fusible && result.hasOneUse() && isFusible(*result.getUsers().begin()));
  cellOp.joined = isJoined(op);
  CellOp applied = applyStack(std::move(cellOp), software, precision.compute);
  return costOp(applied, CellScale(), topology, precision).seconds;
}

void PlacementCosts::addProduct(CellOp &cellOp, const graph::OpRule &rule, int choice) const {
  cellOp.kind = WorkKind::Product;
  cellOp.m = cellOp.n = cellOp.k = cellOp.batch = 1;
  cellOp.flops = rule.flopsPerPoint;
  for (auto [index, loop] : llvm::enumerate(rule.loops)) {
    ProductLoop kind = productLoop(rule, static_cast<unsigned>(index));
    int64_t size =
        static_cast<int>(index) == choice ? llvm::divideCeil(loop.size, parts()) : loop.size;
    (kind == ProductLoop::Batch ? cellOp.batch
     : kind == ProductLoop::M   ? cellOp.m
     : kind == ProductLoop::N   ? cellOp.n
                                : cellOp.k) *= size;
    cellOp.flops *= static_cast<double>(size);
  }
}

void PlacementCosts::addAttention(CellOp &cellOp, Operation *op, const graph::OpRule &rule,
                                  int choice) const {
  auto local = [&](size_t operand) {
    return localType(cast<RankedTensorType>(op->getOperand(operand).getType()),
                     {operandUnder(rule, operand, choice)}, mesh);
  };
  RankedTensorType q = local(0), k = local(1);
  cellOp.kind = WorkKind::Attention;
  cellOp.causal = op->hasAttr("causal");
  cellOp.batch = q.getDimSize(0) * q.getDimSize(2);
  cellOp.m = q.getDimSize(1);
  cellOp.n = k.getDimSize(1);
  cellOp.k = q.getDimSize(3);
  cellOp.phase = op->getNumResults() == 3 ? CellPhase::BackwardInput : CellPhase::Forward;
  cellOp.flops = rule.flopsPerPoint;
  for (auto [index, loop] : llvm::enumerate(rule.loops))
    cellOp.flops *= static_cast<double>(
        static_cast<int>(index) == choice ? llvm::divideCeil(loop.size, parts()) : loop.size);
}

static CollectiveKind collectiveOf(ReshardStep::Kind kind) {
  switch (kind) {
  case ReshardStep::Kind::AllReduce:
    return CollectiveKind::AllReduce;
  case ReshardStep::Kind::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case ReshardStep::Kind::AllGather:
    return CollectiveKind::AllGather;
  default:
    return CollectiveKind::AllToAll;
  }
}

double PlacementCosts::moveSeconds(Type type, const AxisPlacement &from,
                                   const AxisPlacement &to) const {
  if (from == to || from.isReplicate())
    return 0;
  if (to.isPartial() && (from.isPartial() || to.reduce != graph::ReduceKind::Sum))
    return kNever;
  auto tensor = cast<RankedTensorType>(type);
  double width = tensor.getElementTypeBitWidth() / 8.0 *
                 (tensor.getElementType().isF32() ? precision.activationShare : 1);
  double seconds = 0;
  for (const ReshardStep &step : reshardSteps(tensor.getShape(), {from}, {to}, mesh))
    if (step.communicates())
      seconds +=
          collectiveSeconds(collectiveOf(step.kind), wholeElements(step) * width, group, topology);
  return seconds;
}

} // namespace dtc

// Prices the ways to split one op over the mesh on a device and its links.
#include "compiler/search/planner/DeviceCosts.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/MeshGroups.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/price/workload/OpFacts.h"
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

double DeviceCosts::localElements(Type type, const Placement &placement) const {
  double elements = 1;
  for (int64_t size : localType(cast<RankedTensorType>(type), placement, mesh).getShape())
    elements *= static_cast<double>(size);
  return elements;
}

double DeviceCosts::keptBytes(Type type, const Placement &placement) const {
  auto tensor = cast<RankedTensorType>(type);
  bool isFloat = tensor.getElementType().isF32();
  return localElements(type, placement) * tensor.getElementTypeBitWidth() / 8 *
         (isFloat ? precision.activationShare : 1);
}

double DeviceCosts::parameterBytes(Type type, const Placement &placement) const {
  return localElements(type, placement) *
         (precision.parameterBytes + precision.gradientBytes + precision.optimizerBytes);
}

double DeviceCosts::frozenBytes(Type type, const Placement &placement) const {
  return localElements(type, placement) * precision.parameterBytes;
}

double DeviceCosts::updateSeconds(Type type, const Placement &placement) const {
  OpWork work;
  work.bytes = kUpdateTraffic * parameterBytes(type, placement);
  return secondsOf(work, topology.device);
}

double DeviceCosts::opSeconds(Operation *op, const graph::OpRule &rule, ArrayRef<int> split) const {
  if (rule.loops.empty() || rule.kind == graph::OpKind::View)
    return 0; // scalars and views
  CellOp cellOp = cellOpOf(op, rule);
  if (rule.multiplies()) {
    SmallVector<int64_t, 8> sizes;
    for (size_t loop = 0; loop < rule.loops.size(); ++loop)
      sizes.push_back(localSize(rule, loop, split));
    setSizes(cellOp, rule, sizes, SmallVector<uint8_t, 8>(sizes.size(), 0));
  }
  bool fusible = isFusible(op);
  auto add = [&](Type type, const Placement &placement, bool stays) {
    double width = cast<RankedTensorType>(type).getElementTypeBitWidth() / 8.0;
    (stays ? cellOp.looseBytes : cellOp.bytes).parts[0] += localElements(type, placement) * width;
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    add(operand.getType(), operandUnder(rule, index, split),
        fusible && isFusible(operand.getDefiningOp()));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    add(result.getType(), resultUnder(rule, index, split),
        fusible && result.hasOneUse() && isFusible(*result.getUsers().begin()));
  CellOp applied = applyStack(std::move(cellOp), software, precision.compute);
  applied.flops *= weights.microBatches;
  applied.batch *= static_cast<int64_t>(weights.microBatches);
  for (Amount *bytes : {&applied.bytes, &applied.looseBytes})
    bytes->parts[0] *= weights.microBatches;
  return costOp(applied, CellScale(), topology, precision).seconds / weights.microBatches;
}

int64_t DeviceCosts::localSize(const graph::OpRule &rule, size_t loop, ArrayRef<int> split) const {
  int64_t parts = 1;
  for (auto [axis, choice] : llvm::enumerate(split))
    if (choice == static_cast<int>(loop))
      parts *= mesh.sizes[axis];
  return llvm::divideCeil(rule.loops[loop].size, parts);
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

double DeviceCosts::stepSeconds(const ReshardStep &step, double elementBytes) const {
  double bytes = wholeElements(step) * elementBytes * weights.microBatches;
  if (step.communicates()) {
    std::vector<RankGroup> parts;
    for (unsigned axis : step.axes)
      parts.push_back(groups[axis]);
    RankGroup group = jointGroup(parts);
    CollectiveKind kind = collectiveOf(step.kind);
    double seconds = known ? known->seconds(kind, bytes, group)
                           : collectiveSeconds(kind, bytes, group, topology);
    return weights.collectives * seconds / weights.microBatches;
  }
  if (step.kind != ReshardStep::Kind::Scale)
    return 0;     // Local copies, which kernels read in place.
  OpWork scaling; // The scaling reads and writes the tensor.
  scaling.bytes = 2 * bytes;
  return secondsOf(scaling, topology.device) / weights.microBatches;
}

double DeviceCosts::moveSeconds(Type type, const Placement &from, const Placement &to) const {
  if (from == to)
    return 0;
  for (auto [before, after] : llvm::zip(from, to))
    if (after.isPartial() && before != after &&
        (before.isPartial() || after.reduce != graph::ReduceKind::Sum))
      return kNever;
  auto tensor = cast<RankedTensorType>(type);
  double elementBytes = tensor.getElementTypeBitWidth() / 8.0 *
                        (tensor.getElementType().isF32() ? precision.activationShare : 1);
  double seconds = 0;
  for (const ReshardStep &step : reshardSteps(tensor.getShape(), from, to, mesh))
    seconds += stepSeconds(step, elementBytes);
  return seconds;
}

} // namespace dtc

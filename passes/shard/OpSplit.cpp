// Finds the ways in which an op can be split over the mesh, and the resulting placements of its
// tensors.
#include "passes/shard/OpSplit.h"

#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/SlowLinkOps.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns the dim that has `loop`. If it is not the dim's outermost loop, the loops outside of it
// are split to single steps (canSplit).
std::optional<int64_t> dimOf(const graph::TensorLoops &tensor, int loop) {
  for (auto [dim, loops] : llvm::enumerate(tensor))
    if (loop >= 0 && llvm::is_contained(loops, static_cast<unsigned>(loop)))
      return dim;
  return std::nullopt;
}

// The number of parts of each loop under a split.
class LoopParts {
public:
  LoopParts(const graph::OpRule &rule, ArrayRef<int> split, ArrayRef<int64_t> meshSizes)
      : rule(rule), split(split), meshSizes(meshSizes) {}

  int64_t of(unsigned loop) const {
    int64_t parts = 1;
    for (auto [choice, size] : llvm::zip(split, meshSizes))
      if (choice == static_cast<int>(loop))
        parts *= size;
    return parts;
  }

  bool canBe(unsigned loop) const {
    const graph::Loop &info = rule.loops[loop];
    int64_t parts = of(loop);
    if (info.isWhole())
      return false;
    bool mayPad = rule.allowsPadding(loop);
    for (const graph::TensorLoops &tensor :
         llvm::concat<const graph::TensorLoops>(rule.operands, rule.results))
      for (const graph::DimLoops &dim : tensor)
        if (const auto *at = llvm::find(dim, loop); at != dim.end()) {
          if (!llvm::all_of(ArrayRef<unsigned>(dim.begin(), at),
                            [&](unsigned outer) { return isSingleStep(outer, loop); }))
            return false;
          mayPad &= !hasOther(dim, loop);
        }
    return ShapedType::isDynamic(info.size) || info.size % parts == 0 || mayPad;
  }

private:
  // True if each rank has one step of `outer`, by axes that are all outside of those of `loop`.
  bool isSingleStep(unsigned outer, unsigned loop) const {
    if (rule.loops[outer].size != of(outer))
      return false;
    bool isInside = false;
    for (int choice : split) {
      isInside |= choice == static_cast<int>(loop);
      if (isInside && choice == static_cast<int>(outer))
        return false;
    }
    return true;
  }

  // True if a dim has other loops of more than one step. Such a dim is padded at its end and not
  // between the steps of its outer loop, so its parts would not hold whole steps. Example: 2 query
  // heads of one kv head on 2 ranks: the second rank's kv head is padding, its query head is not.
  bool hasOther(const graph::DimLoops &dim, unsigned loop) const {
    return llvm::any_of(
        dim, [&](unsigned other) { return other != loop && rule.loops[other].size != 1; });
  }

  const graph::OpRule &rule;
  ArrayRef<int> split;
  ArrayRef<int64_t> meshSizes;
};

} // namespace

std::string splitToText(int choice) {
  return choice == split::kNone      ? "none"
         : choice == split::kPartial ? "partial"
                                     : std::to_string(choice);
}

std::optional<int> splitFromText(StringRef text) {
  if (text == "none")
    return split::kNone;
  if (text == "partial")
    return split::kPartial;
  int loop;
  if (text.getAsInteger(10, loop) || loop < 0)
    return std::nullopt;
  return loop;
}

bool canSplit(const graph::OpRule &rule, ArrayRef<int> split, ArrayRef<int64_t> meshSizes) {
  LoopParts parts(rule, split, meshSizes);
  return llvm::all_of(
      split, [&](int choice) { return choice < 0 || parts.canBe(static_cast<unsigned>(choice)); });
}

bool canSplitLoop(const graph::OpRule &rule, int loop, int64_t parts) {
  return canSplit(rule, {loop}, {parts});
}

std::optional<unsigned> groupedLoop(const graph::OpRule &rule) {
  if (rule.kind == graph::OpKind::Attention)
    for (const graph::DimLoops &dim : rule.operands.front())
      if (dim.size() > 1)
        return dim.front();
  return std::nullopt;
}

int loopOfDim(const graph::TensorLoops &tensor, int64_t dim) {
  if (dim >= static_cast<int64_t>(tensor.size()) || tensor[dim].empty())
    return split::kNone;
  return static_cast<int>(tensor[dim].front());
}

AxisPlacement operandUnder(const graph::OpRule &rule, size_t operand, int choice) {
  if (choice == split::kPartial && rule.isComplete(static_cast<unsigned>(operand)))
    return AxisPlacement::replicate();
  if (choice == split::kPartial)
    return AxisPlacement::partial(graph::ReduceKind::Sum);
  if (std::optional<int64_t> dim = dimOf(rule.operands[operand], choice))
    return AxisPlacement::shard(*dim);
  return AxisPlacement::replicate();
}

AxisPlacement resultUnder(const graph::OpRule &rule, size_t result, int choice) {
  if (choice == split::kPartial)
    return AxisPlacement::partial(graph::ReduceKind::Sum);
  if (choice == split::kNone)
    return AxisPlacement::replicate();
  if (std::optional<int64_t> dim = dimOf(rule.results[result], choice))
    return AxisPlacement::shard(*dim);
  if (rule.loops[choice].kind == graph::LoopKind::Staged)
    return AxisPlacement::replicate();
  return AxisPlacement::partial(rule.loops[choice].kind == graph::LoopKind::Max
                                    ? graph::ReduceKind::Max
                                    : graph::ReduceKind::Sum);
}

Placement operandUnder(const graph::OpRule &rule, size_t operand, ArrayRef<int> split) {
  Placement placement;
  for (int choice : split)
    placement.push_back(operandUnder(rule, operand, choice));
  return placement;
}

Placement resultUnder(const graph::OpRule &rule, size_t result, ArrayRef<int> split) {
  Placement placement;
  for (int choice : split)
    placement.push_back(resultUnder(rule, result, choice));
  return placement;
}

// True for the loop of the ranks whose addends graph.addends takes: its operand is their sum.
static bool isOfAddends(Operation *op, int choice) {
  return isa<graph::AddendsOp>(op) && choice == 0;
}

void orderHeads(Operation *op, const Mesh &mesh, Placement &placement) {
  if (!isa<graph::ExchangeOp, graph::AttentionOp, graph::AttentionGradOp>(op))
    return;
  for (unsigned context : mesh.axesOf(AxisRole::Context))
    for (unsigned tensor : mesh.axesOf(AxisRole::Tensor))
      if (mesh.sizes[context] > 1 && mesh.sizes[tensor] > 1 && placement[context].isShard() &&
          placement[tensor].isShard() && placement[context].dim == placement[tensor].dim)
        placement[context].level = 1;
}

Placement operandOf(Operation *op, const graph::OpRule &rule, size_t operand, ArrayRef<int> split,
                    const Mesh &mesh) {
  Placement placement = operandUnder(rule, operand, split);
  orderHeads(op, mesh, placement);
  for (auto [axis, choice] : llvm::enumerate(split))
    if (isOfAddends(op, choice))
      placement[axis] = AxisPlacement::partial(graph::ReduceKind::Sum);
  return placement;
}

Placement resultOf(Operation *op, const graph::OpRule &rule, size_t result, ArrayRef<int> split,
                   const Mesh &mesh) {
  Placement placement = resultUnder(rule, result, split);
  orderHeads(op, mesh, placement);
  return placement;
}

int followOperands(Operation *op, const graph::OpRule &rule, ArrayRef<int64_t> sizes,
                   ArrayRef<int> taken, llvm::function_ref<AxisPlacement(Value)> placementOf) {
  if (sizes.back() == 1)
    return split::kNone;
  bool hasSum = false, mayStaySum = rule.jointlyLinear;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    AxisPlacement now = placementOf(operand);
    bool isSum = now.isPartial() && now.reduce == graph::ReduceKind::Sum;
    int loop = now.isShard() ? loopOfDim(rule.operands[index], now.dim) : split::kNone;
    if (isSum && isOfAddends(op, 0))
      loop = 0;
    OpSplit split(taken);
    split.push_back(loop);
    if (loop >= 0 && canSplit(rule, split, sizes))
      return loop;
    bool isScalar = now.isReplicate() && cast<RankedTensorType>(operand.getType()).getRank() == 0;
    bool isComplete = rule.isComplete(static_cast<unsigned>(index));
    hasSum |= isSum && !isComplete;
    mayStaySum &= isComplete ? !isSum : isSum || isScalar;
  }
  return hasSum && mayStaySum ? split::kPartial : split::kNone;
}

void setSplit(Operation *op, ArrayRef<int> split) {
  SmallVector<int64_t, 3> entries(split.begin(), split.end());
  op->setAttr(kSplitsAttr, DenseI64ArrayAttr::get(op->getContext(), entries));
}

namespace {

constexpr StringLiteral kMend =
    "; 'op_splits' of the plan ask for it: plan this model again with 'dtc plan'";

LogicalResult checkChoice(Operation *op, const graph::OpRule &rule, int choice) {
  if (choice >= static_cast<int>(rule.loops.size()) || choice < split::kPartial)
    return op->emitOpError("has ")
           << rule.loops.size() << " loops, so it can't be split along loop " << choice << kMend;
  if (choice == split::kPartial && !rule.jointlyLinear)
    return op->emitOpError("does not commute with sums, so its operands can't stay partial")
           << kMend;
  return success();
}

} // namespace

FailureOr<OpSplit> readSplit(Operation *op, const graph::OpRule &rule, const Mesh &mesh) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(kSplitsAttr);
  if (!attr || attr.size() != static_cast<int64_t>(mesh.numAxes()))
    return op->emitOpError("needs '") << kSplitsAttr << "' with an entry for each of the "
                                      << mesh.numAxes() << " mesh axes; run dtc-place first";
  OpSplit split;
  for (auto [size, choice] : llvm::zip(mesh.sizes, attr.asArrayRef())) {
    split.push_back(size == 1 ? split::kNone : static_cast<int>(choice));
    if (failed(checkChoice(op, rule, split.back())))
      return failure();
  }
  LoopParts parts(rule, split, mesh.sizes);
  for (int choice : split)
    if (choice >= 0 && !parts.canBe(static_cast<unsigned>(choice)))
      return op->emitOpError("can't be split along loop ")
             << choice << " into " << parts.of(static_cast<unsigned>(choice))
             << " parts: its rule does not allow it" << kMend;
  return split;
}

} // namespace dtc

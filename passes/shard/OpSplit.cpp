// The ways in which one op can be split over the mesh, and what each makes of its tensors.
#include "passes/shard/OpSplit.h"

using namespace mlir;

namespace dtc {
namespace {

// The dim whose outermost loop is `loop`.
std::optional<int64_t> dimOf(const graph::TensorLoops &tensor, int loop) {
  for (auto [dim, loops] : llvm::enumerate(tensor))
    if (!loops.empty() && static_cast<int>(loops.front()) == loop)
      return dim;
  return std::nullopt;
}

bool isInner(const graph::TensorLoops &tensor, int loop) {
  for (const graph::DimLoops &loops : tensor)
    for (unsigned inner : ArrayRef<unsigned>(loops).drop_front(loops.empty() ? 0 : 1))
      if (static_cast<int>(inner) == loop)
        return true;
  return false;
}

// Besides what the rule says: a dim of several loops is padded at its end and not between the steps
// of its outer loop, so its parts would not hold whole steps. Example: 2 query heads of one kv head
// on 2 ranks: the second rank's kv head is padding, its query head is not.
bool allowsPadding(const graph::OpRule &rule, int loop) {
  auto ofSeveral = [&](const graph::TensorLoops &tensor) {
    return llvm::any_of(tensor, [&](const graph::DimLoops &loops) {
      return loops.size() > 1 && static_cast<int>(loops.front()) == loop &&
             llvm::any_of(ArrayRef<unsigned>(loops).drop_front(),
                          [&](unsigned inner) { return rule.loops[inner].size != 1; });
    });
  };
  return rule.allowsPadding(loop) && llvm::none_of(rule.operands, ofSeveral) &&
         llvm::none_of(rule.results, ofSeveral);
}

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

bool canSplitLoop(const graph::OpRule &rule, int loop, int64_t parts) {
  const graph::Loop &info = rule.loops[loop];
  if (info.kind == graph::LoopKind::Whole)
    return false;
  for (const graph::TensorLoops &tensor :
       llvm::concat<const graph::TensorLoops>(rule.operands, rule.results))
    if (isInner(tensor, loop))
      return false;
  if (ShapedType::isDynamic(info.size) || info.size % parts == 0)
    return true;
  return allowsPadding(rule, loop);
}

int loopOfDim(const graph::TensorLoops &tensor, int64_t dim) {
  if (dim >= static_cast<int64_t>(tensor.size()) || tensor[dim].empty())
    return split::kNone;
  return static_cast<int>(tensor[dim].front());
}

AxisPlacement operandUnder(const graph::OpRule &rule, size_t operand, int choice) {
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

int followOperands(Operation *op, const graph::OpRule &rule, int64_t parts, ArrayRef<int> taken,
                   llvm::function_ref<AxisPlacement(Value)> placementOf) {
  if (parts == 1)
    return split::kNone;
  bool hasSum = false, mayStaySum = rule.jointlyLinear;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    AxisPlacement now = placementOf(operand);
    int loop = now.isShard() ? loopOfDim(rule.operands[index], now.dim) : split::kNone;
    if (loop >= 0 && !llvm::is_contained(taken, loop) && canSplitLoop(rule, loop, parts))
      return loop;
    bool isSum = now.isPartial() && now.reduce == graph::ReduceKind::Sum;
    bool isScalar = now.isReplicate() && cast<RankedTensorType>(operand.getType()).getRank() == 0;
    hasSum |= isSum;
    mayStaySum &= isSum || isScalar;
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

LogicalResult checkChoice(Operation *op, const graph::OpRule &rule, int choice, int64_t parts) {
  if (choice >= static_cast<int>(rule.loops.size()) || choice < split::kPartial)
    return op->emitOpError("has ")
           << rule.loops.size() << " loops, so it can't be split along loop " << choice << kMend;
  if (choice >= 0 && !canSplitLoop(rule, choice, parts))
    return op->emitOpError("can't be split along loop ")
           << choice << " into " << parts << " parts: its rule does not allow it" << kMend;
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
  for (auto [axis, choice] : llvm::enumerate(attr.asArrayRef())) {
    split.push_back(mesh.sizes[axis] == 1 ? split::kNone : static_cast<int>(choice));
    if (failed(checkChoice(op, rule, split.back(), mesh.sizes[axis])))
      return failure();
    for (unsigned other = 0; other < axis; ++other)
      if (split.back() >= 0 && split.back() == split[other])
        return op->emitOpError("can't be split along loop ")
               << split.back() << " over both '" << mesh.names[other] << "' and '"
               << mesh.names[axis] << "'" << kMend;
  }
  return split;
}

} // namespace dtc

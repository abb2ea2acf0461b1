// The ways in which one op can be split over one mesh axis, and what each makes of its tensors.
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
  return AxisPlacement::partial(rule.loops[choice].kind == graph::LoopKind::Max
                                    ? graph::ReduceKind::Max
                                    : graph::ReduceKind::Sum);
}

} // namespace dtc

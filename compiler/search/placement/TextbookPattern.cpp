// The rules of tensor parallelism that is written by hand.
#include "compiler/search/placement/TextbookPattern.h"
#include "dialects/graph/MoeOps.h"

#include "dialects/graph/RouteOps.h"

using namespace mlir;

namespace dtc {
namespace {

bool hasLoop(const graph::TensorLoops &tensor, unsigned loop) {
  return llvm::any_of(tensor,
                      [&](const graph::DimLoops &dim) { return llvm::is_contained(dim, loop); });
}

bool makesGradientOfRouter(Value value) {
  return isa_and_nonnull<graph::MoeRouterGradOp, graph::RouteGradOp>(value.getDefiningOp());
}

} // namespace

TextbookPattern::TextbookPattern(const PlacementProblem &problem, const DimRoles &roles,
                                 const WeightClasses &weights)
    : isActive(problem.pattern == TensorPattern::Textbook),
      sequenceParallel(problem.sequenceParallel), tensorAxes(problem.mesh.axesOf(AxisRole::Tensor)),
      roles(roles), weights(weights), dims(weights.size()), isRouters(weights.size()) {
  if (!isActive)
    return;
  ModuleOp step = problem.step;
  step.walk([&](graph::GetOp get) {
    std::optional<unsigned> weightClass = weights.of(get.getResult());
    if (!weightClass)
      return;
    SmallVector<uint8_t, 4> &known = dims[*weightClass];
    known.resize(weights[*weightClass].type.getRank(), 0);
    for (auto [dim, bits] : llvm::zip(known, roles.of(get.getResult())))
      dim |= bits;
  });
  step.walk([&](Operation *router) {
    if (!isa<graph::MoeRouterOp, graph::RouteTokensOp>(router))
      return;
    if (Operation *product = router->getOperand(0).getDefiningOp()) // makes the logits
      for (Value operand : product->getOperands())
        if (std::optional<unsigned> weightClass = weights.of(operand))
          isRouters[*weightClass] = true;
  });
}

// Products that make a router's logits, and those of their gradients.
bool TextbookPattern::isOfRouter(Operation *op) const {
  auto isRouters = [&](Value operand) {
    std::optional<unsigned> weightClass = weights.of(operand);
    return (weightClass && this->isRouters[*weightClass]) || makesGradientOfRouter(operand);
  };
  return llvm::any_of(op->getOperands(), isRouters);
}

// Returns true if a matmul has the loop in a weight, or in the gradient of one. Values without
// samples are weights, or made of weights.
bool TextbookPattern::isOfWeights(Operation *op, const graph::OpRule &rule, unsigned loop) const {
  bool isAny = false, isIn = false;
  auto look = [&](Value value, const graph::TensorLoops &tensor) {
    if (hasSamples(value) || tensor.empty())
      return;
    isAny = true;
    isIn |= hasLoop(tensor, loop);
  };
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    look(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    look(value, tensor);
  return isIn || !isAny; // attention has none
}

bool TextbookPattern::maySplit(Operation *op, const graph::OpRule &rule, unsigned loop) const {
  if (!isActive)
    return true;
  uint8_t bits = roles.ofLoops(op, rule)[loop];
  bool isOfTokens = bits & ScalesWithSequence;
  if (rule.multiplies() && isOfRouter(op))
    return isOfTokens && sequenceParallel;
  if (rule.multiplies())
    return !isOfTokens && isOfWeights(op, rule, loop);
  if (isOfTokens)
    return sequenceParallel;
  if ((bits & ScalesWithVocabulary) || !rule.expertLoops.empty())
    return true;
  // Other loops must not sum over a token's values on several ranks.
  bool isStaged = rule.loops[loop].kind == graph::LoopKind::Staged;
  return !isStaged && llvm::all_of_zip(op->getResults(), rule.results,
                                       [&](Value result, const graph::TensorLoops &tensor) {
                                         return !hasSamples(result) || hasLoop(tensor, loop);
                                       });
}

// Returns whether the value has numbers for each token.
bool TextbookPattern::isOfStream(Value value) const {
  ArrayRef<uint8_t> bits = roles.of(value);
  auto has = [&](uint8_t role) {
    return llvm::any_of(bits, [&](uint8_t dim) { return (dim & role) != 0; });
  };
  return has(ScalesWithBatch) && has(ScalesWithSequence) && has(DimRoles::kChannels);
}

bool TextbookPattern::mayRepeat(Operation *op, const graph::OpRule &rule,
                                ArrayRef<unsigned> loops) const {
  if (!isActive || !sequenceParallel || rule.multiplies() || !rule.expertLoops.empty() ||
      llvm::none_of(op->getResults(), [&](Value result) { return isOfStream(result); }))
    return true;
  SmallVector<uint8_t, 8> bits = roles.ofLoops(op, rule);
  return llvm::none_of(loops, [&](unsigned loop) { return bits[loop] & ScalesWithSequence; });
}

bool TextbookPattern::isOfSequence(Value value, int64_t dim) const {
  ArrayRef<uint8_t> bits = roles.of(value);
  return dim < static_cast<int64_t>(bits.size()) &&
         (bits[static_cast<size_t>(dim)] & ScalesWithSequence);
}

bool TextbookPattern::mayMove(Value value, const Placement &from, const Placement &to) const {
  if (!isActive || tensorAxes.empty())
    return true;
  unsigned outer = tensorAxes.front();
  for (unsigned axis : tensorAxes) {
    if (from[axis] == to[axis] || !(from[axis].isShard() || from[axis].isPartial()))
      continue;
    bool sharesHead = axis != outer && from[outer].isShard() && from[outer] == to[outer];
    auto isParts = [&](const AxisPlacement &parts) {
      return hasSamples(value) &&
             (sharesHead || (sequenceParallel && isOfSequence(value, parts.dim)));
    };
    if (from[axis].isShard() && (to[axis].isShard() || !isParts(from[axis])))
      return false;
    if (from[axis].isPartial() && to[axis].isShard() && !isParts(to[axis]))
      return false;
  }
  return true;
}

bool TextbookPattern::isTable(unsigned weightClass) const {
  return isActive &&
         llvm::any_of(dims[weightClass], [](uint8_t bits) { return bits & ScalesWithVocabulary; });
}

bool TextbookPattern::mayRest(unsigned weightClass, const Placement &placement) const {
  if (!isActive)
    return true;
  return llvm::all_of(tensorAxes, [&](unsigned axis) {
    if (!placement[axis].isShard())
      return true;
    auto dim = static_cast<size_t>(placement[axis].dim);
    uint8_t bits = dim < dims[weightClass].size() ? dims[weightClass][dim] : 0;
    if (isTable(weightClass))
      return (bits & ScalesWithVocabulary) != 0;
    return !isRouters[weightClass] && !(bits & ScalesWithSequence);
  });
}

} // namespace dtc

#include "compiler/decide/plan/ContextSupport.h"

#include "compiler/decide/decisions/Decisions.h"
#include "dialects/graph/Attributes.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/StateOps.h"
#include "passes/graph/LossForm.h"
#include "passes/shard/SplitQueries.h"

using namespace mlir;

namespace dtc {

static uint32_t bitOf(ContextKind kind) { return 1u << static_cast<unsigned>(kind); }

Operation *findUncuttable(ModuleOp module) {
  Operation *found = nullptr;
  module.walk([&](Operation *op) {
    if (!isa<graph::RouteTokensOp, graph::MoeRouterOp, graph::BatchNormaliseOp>(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

// Returns true if a tensor is of samples, whose number is not known before the program runs.
static bool isOfSamples(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

// Returns true if a dim of `sequence` steps that stands for the tokens of samples is made of
// several loops, so that a part of the tokens is no part of each of them: a reshape cuts it.
static bool cutsTokens(const graph::OpRule &rule, const graph::TensorLoops &loops, Type type,
                       int64_t sequence) {
  auto tensor = cast<RankedTensorType>(type);
  constexpr int64_t tokens = 1;
  if (tensor.getRank() <= tokens || tensor.getDimSize(tokens) != sequence)
    return false;
  return llvm::count_if(loops[tokens], [&](unsigned loop) { return rule.loops[loop].size != 1; }) >
         1;
}

// Returns true if an op of samples other than attention needs all tokens of a sequence at once,
// such as a slice or a sum of all before along the tokens, a product with a parameter that has a
// row of each token, or a reshape that cuts the tokens: ranks would have to gather them.
static bool mixesTokens(Operation *op, int64_t sequence) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface || isa<graph::AttentionOp>(op) ||
      !llvm::any_of(op->getOperandTypes(), isOfSamples))
    return false;
  graph::OpRule rule = interface.getRule();
  for (auto [index, loop] : llvm::enumerate(rule.loops)) {
    if (loop.size != sequence)
      continue;
    bool isOfParameter = false;
    for (auto [operand, loops] : llvm::zip(op->getOperands(), rule.operands))
      for (const graph::DimLoops &dim : loops)
        isOfParameter |= !isOfSamples(operand.getType()) && llvm::is_contained(dim, index);
    if (loop.kind == graph::LoopKind::Whole || (loop.kind == graph::LoopKind::Sum && isOfParameter))
      return true;
  }
  for (auto [operand, loops] : llvm::zip(op->getOperands(), rule.operands))
    if (isOfSamples(operand.getType()) && cutsTokens(rule, loops, operand.getType(), sequence))
      return true;
  for (auto [result, loops] : llvm::zip(op->getResults(), rule.results))
    if (isOfSamples(result.getType()) && cutsTokens(rule, loops, result.getType(), sequence))
      return true;
  return false;
}

uint32_t attentionKindsOf(ModuleOp module) {
  uint32_t kinds =
      bitOf(ContextKind::AllToAll) | bitOf(ContextKind::AllGather) | bitOf(ContextKind::Ring);
  module.walk([&](graph::AttentionOp attention) {
    if (!whyQueriesAreWhole(attention, graph::KeyTravel::Gather).empty())
      kinds &= ~bitOf(ContextKind::AllGather);
    if (!whyQueriesAreWhole(attention, graph::KeyTravel::Ring).empty())
      kinds &= ~bitOf(ContextKind::Ring);
  });
  return kinds;
}

uint32_t contextKindsOf(ModuleOp module) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss || findUncuttable(module))
    return 0;
  FailureOr<LossForm> form = findLossForm(loss);
  if (failed(form) || *form == LossForm::Beside)
    return 0;
  bool any = false, all = true;
  module.walk([&](graph::AttentionOp attention) {
    any = true;
    all &= attention.getCausal();
  });
  auto sequence = module->getAttrOfType<IntegerAttr>(graph::kSequenceLengthAttr);
  module.walk([&](Operation *op) { all &= !sequence || !mixesTokens(op, sequence.getInt()); });
  return any && all ? attentionKindsOf(module) : 0;
}

} // namespace dtc

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

// Returns true if an op of samples other than attention needs all tokens of a sequence at once,
// such as a slice or a sum of all before along the tokens: ranks would have to gather them.
static bool mixesTokens(Operation *op, int64_t sequence) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  bool isOfSamples = llvm::any_of(op->getOperandTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  });
  if (!interface || !isOfSamples || isa<graph::AttentionOp>(op))
    return false;
  return llvm::any_of(interface.getRule().loops, [&](const graph::Loop &loop) {
    return loop.kind == graph::LoopKind::Whole && loop.size == sequence;
  });
}

uint32_t contextKindsOf(ModuleOp module) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss || findUncuttable(module))
    return 0;
  FailureOr<LossForm> form = findLossForm(loss);
  if (failed(form) || *form == LossForm::Beside)
    return 0;
  uint32_t kinds =
      bitOf(ContextKind::AllToAll) | bitOf(ContextKind::AllGather) | bitOf(ContextKind::Ring);
  bool any = false;
  module.walk([&](graph::AttentionOp attention) {
    any = true;
    if (!attention.getCausal())
      kinds = 0;
    if (!whyQueriesAreWhole(attention, graph::KeyTravel::Gather).empty())
      kinds &= ~bitOf(ContextKind::AllGather);
    if (!whyQueriesAreWhole(attention, graph::KeyTravel::Ring).empty())
      kinds &= ~bitOf(ContextKind::Ring);
  });
  auto sequence = module->getAttrOfType<IntegerAttr>(graph::kSequenceLengthAttr);
  module.walk([&](Operation *op) {
    if (sequence && mixesTokens(op, sequence.getInt()))
      kinds = 0;
  });
  return any ? kinds : 0;
}

} // namespace dtc

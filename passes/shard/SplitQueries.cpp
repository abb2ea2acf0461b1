// Finds the attention whose queries ranks of context parallelism may have parts of.
#include "passes/shard/SplitQueries.h"

#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "passes/shard/PlacedAttention.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dtc {

// Returns words for an operand or attribute of attention.
static std::string wordsOf(StringRef name, bool isCausal) {
  std::string mask = isCausal ? "a causal mask with " : "";
  return llvm::StringSwitch<std::string>(name)
      .Case("sliding", "a sliding window")
      .Case("prefix", "a prefix")
      .Case("bias", mask + "a bias")
      .Case("lengths", mask + "lengths")
      .Case("starts", "positions of its own")
      .Default(name.str());
}

// Names the first operand or attribute of attention that is not among those with which a part of
// its queries is known to be right: a new one is refused until it is named here.
template <typename Op> static std::string whyWhole(Op op, graph::KeyTravel travel) {
  constexpr StringLiteral operands[] = {"q", "k", "v", "out", "lse", "dout", "dlse", "sinks"};
  constexpr StringLiteral ofHeads[] = {"slopes"};
  constexpr StringLiteral attributes[] = {"causal",   "sliding", "prefix",  "scale",
                                          "soft_cap", "id",      "windows", "operandSegmentSizes"};
  bool isCausal = op.getCausal(), passes = travel == graph::KeyTravel::Ring;
  for (NamedAttribute each : op->getAttrs()) {
    StringRef name = each.getName().getValue();
    bool isNothing = name == "dropout" && op.getDropout().isZero();
    if (!name.contains('.') && !isNothing && !llvm::is_contained(attributes, name))
      return "has " + wordsOf(name, isCausal);
  }
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    StringRef name = op.getOperandName(index);
    // Bias of a rank's queries is in their order, unless masks need to know of several runs.
    bool isBias = name == "bias" && !isCausal && !PlacedAttention::isFor(op);
    bool isLengths = name == "lengths"; // of all keys of a sample
    bool isKnown = llvm::is_contained(operands, name) || llvm::is_contained(ofHeads, name) ||
                   (!passes && (isBias || isLengths));
    if (!isKnown)
      return "has " + wordsOf(name, isCausal);
  }
  auto tokensOf = [](Value x) { return cast<RankedTensorType>(x.getType()).getDimSize(1); };
  if ((isCausal || PlacedAttention::isFor(op)) && tokensOf(op.getQ()) != tokensOf(op.getK()))
    return isCausal ? "is causal with other keys than queries"
                    : "has a window or slopes with other keys than queries";
  return "";
}

std::string whyQueriesAreWhole(Operation *attention, graph::KeyTravel travel) {
  if (auto forward = dyn_cast<graph::AttentionOp>(attention))
    return whyWhole(forward, travel);
  return whyWhole(cast<graph::AttentionGradOp>(attention), travel);
}

} // namespace dtc

// Rules out kinds of context parallelism.
#include "compiler/search/planner/ContextKinds.h"

#include "compiler/search/planner/ContextChoices.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

bool ContextKinds::Part::isNoWorseThan(const Part &other) const {
  return forward.most <= other.forward.least && backward.most <= other.backward.least &&
         forwardTransient <= other.forwardTransient && transient <= other.transient;
}

void ContextKinds::addParts(const ModelCost &cost, std::vector<Part> &parts) {
  double hidden = cost.overlap.cp, slower = cost.overlap.slowdown - 1;
  auto passOf = [&](double keys, double heads) {
    double least = (1 - hidden) * keys + heads;
    return Pass{least, least + slower * hidden * keys};
  };
  auto add = [&](const BlockCost &block) {
    parts.push_back({passOf(block.forwardCp, block.forwardHeads),
                     passOf(block.backwardCp, block.backwardHeads), block.forwardTransient,
                     block.transient});
  };
  add(cost.embedding);
  add(cost.head);
  for (const BlockCost &block : cost.blocks)
    add(block);
  for (const ModelCost &kind : cost.kinds)
    addParts(kind, parts);
}

// If a longer pass hides ZeRO's gathers, their seconds are saved, and compute is slowed by
// (slowdown - 1) of them. Above this slowdown a longer pass could cost more than its own seconds.
constexpr double kMostSlowdown = 2;

bool ContextKinds::isRuledOut(const Decisions &decisions, const ModelCost &cost) {
  if (cost.overlap.slowdown > kMostSlowdown)
    return false;
  Decisions base = withoutContextChoice(decisions);
  base.placement = 0;
  if (base != mesh) {
    mesh = base;
    kinds.clear();
  }
  std::vector<Part> parts;
  addParts(cost, parts);
  bool hasTwoGroups = decisions.headRanks() > 1 && decisions.ringRanks() > 1;
  bool isRuledOut = llvm::any_of(kinds, [&](const Kind &known) {
    // The hybrid of a2a and p2p needs buffers of two groups.
    bool needsMore = known.hasTwoGroups && !hasTwoGroups;
    return known.placement == decisions.placement && !needsMore &&
           llvm::all_of_zip(known.parts, parts,
                            [](const Part &a, const Part &b) { return a.isNoWorseThan(b); });
  });
  if (!isRuledOut)
    kinds.push_back({decisions.placement, hasTwoGroups, std::move(parts)});
  return isRuledOut;
}

} // namespace dtc

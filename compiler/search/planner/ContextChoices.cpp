// Enumerates the ways of context parallelism of a mesh, and says why there is none.
#include "compiler/search/planner/ContextChoices.h"

#include "compiler/decide/decisions/LegalSpace.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/search/planner/Divisors.h"
#include "compiler/search/planner/MeshRules.h"
#include "passes/graph/ExchangeHeads.h"

#include <algorithm>

namespace dtc {

using D = Decisions;

// Returns true if programs may have the kind: any that a pin asks for, else what all attention of
// the model permits, and without a pin of cp all other ops, too.
static bool mayCompileKind(ContextKind kind, const SpaceLimits &limits, const Pins &pins) {
  if (!limits.executable || pins[&D::contextKind])
    return true;
  return hasWordOf(pins[&D::cp] ? limits.attentionKinds : limits.contextKinds, kind);
}

// Returns true if pins, software, programs and the model's windows permit the kind for several
// ranks of context parallelism.
static bool mayHave(ContextKind kind, const SpaceLimits &limits, const Pins &pins) {
  if (!pins.allow(&D::contextKind, kind) || !mayCompileKind(kind, limits, pins))
    return false;
  return !limits.space || (limits.space->contextKinds >> static_cast<int>(kind) & 1 &&
                           (!hasRing(kind) || !limits.slides || limits.space->slidesInRings));
}

// Returns true if programs repeat kv heads for the ranks of an all-to-all (passes/graph's
// exchangeHeads), which the software of other plans does not, nor do plans say how tensor
// parallelism splits copies.
static bool repeatsHeads(const Decisions &d, const SpaceLimits &limits) {
  return limits.executable && d.tp == 1 &&
         copiesOfHeads(limits.heads, limits.kvHeads, d.headRanks()) > 0;
}

Decisions withoutContextChoice(Decisions d) {
  d.contextKind = ContextKind::Ring;
  d.contextInner = 1;
  return d;
}

std::vector<Decisions> contextChoices(Decisions mesh, const SpaceLimits &limits, const Pins &pins) {
  std::vector<Decisions> choices;
  if (mesh.cp == 1) { // no context parallelism: plans have a fixed kind then
    if (pins.allow(&D::contextKind, ContextKind::Ring))
      choices.push_back(withoutContextChoice(mesh));
    return choices;
  }
  // Heads of keys and values per rank.
  int64_t heads = limits.kvHeads % mesh.tp == 0 ? limits.kvHeads / mesh.tp : 0;
  auto add = [&](ContextKind kind, int64_t inner) {
    mesh.contextKind = kind;
    mesh.contextInner = inner;
    int64_t ranks = mesh.headRanks();
    bool isThere = ranks == 1 || (heads > 0 && heads % ranks == 0) || repeatsHeads(mesh, limits);
    if (isThere && mayHave(kind, limits, pins) && permits(pins[&D::contextInner], inner))
      choices.push_back(mesh);
  };
  add(ContextKind::Ring, 1);
  add(ContextKind::AllToAll, 1);
  for (int64_t inner : divisorsOf(mesh.cp))
    if (inner > 1 && inner < mesh.cp)
      add(ContextKind::Both, inner);
  add(ContextKind::AllGather, 1);
  return choices;
}

std::optional<UserError> findContextError(int64_t tp, int64_t cp, const SpaceLimits &limits,
                                          const Pins &pins) {
  auto number = [](int64_t value) { return std::to_string(value); };
  bool mayBeOne = pins.allow(&D::contextKind, ContextKind::Ring);
  if (cp <= 1 && mayBeOne)
    return std::nullopt;
  bool isLong = false; // the sequence is long enough to be cut
  Decisions d;
  d.tp = std::max<int64_t>(1, tp);
  for (int64_t size : divisorsOf(limits.devices)) {
    d.cp = size;
    if (size == 1 || (cp > 0 && size != cp) || !fitsSequence(size, d.tp, limits, pins))
      continue;
    isLong = true;
    if (!contextChoices(d, limits, pins).empty())
      return std::nullopt;
  }
  std::string given = pins[&D::contextInner]  ? "cp_inner=" + number(*pins[&D::contextInner])
                      : pins[&D::contextKind] ? "cp_kind=" + toString(*pins[&D::contextKind]).str()
                                              : "";
  if (cp > 0)
    given = "cp=" + number(cp) + (given.empty() ? "" : ",") + given;
  given = "--fix " + given;
  if (cp == 1 || limits.devices == 1)
    return UserError(given + ": a kind of context parallelism needs cp of 2 or more",
                     "use cp_kind=ring, or leave cp, or one of dp, tp and pp, to the planner");
  if (!isLong)
    return UserError(given + ": a sequence of " + number(limits.sequence) +
                         " tokens is not cut into 2 parts a rank with " +
                         number(kLeastTokensOfContext) + " tokens a rank",
                     "use cp=2 or more to cut it all the same");
  auto isThere = [&](ContextKind kind) { return mayHave(kind, limits, pins); };
  bool swaps = isThere(ContextKind::AllToAll), hasBoth = isThere(ContextKind::Both);
  if (!swaps && !hasBoth)
    return UserError(
        given + ": the model has sliding windows, which the ring attention of the software lacks",
        "use cp=1, or another cp_kind where the software has one");
  if (!swaps && cp > 0 && divisorsOf(cp).size() == 2)
    return UserError(given + ": cp has no divisor between 1 and itself",
                     "use a cp that is a product, such as 4, or another kind");
  return UserError(given + ": the ranks of an all-to-all do not divide the " +
                       number(limits.kvHeads) + " kv heads of the model" +
                       (tp > 1 ? ", over tp=" + number(tp) + " of them" : ""),
                   "use another cp, or cp_kind=ring where the software has it");
}

} // namespace dtc

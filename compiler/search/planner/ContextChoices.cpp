// Enumerates the ways of context parallelism of a mesh.
#include "compiler/search/planner/ContextChoices.h"

#include "compiler/search/planner/Divisors.h"

namespace dtc {

using D = Decisions;

bool mayMeet(ContextKind kind, const SpaceLimits &limits, const Pins &pins) {
  if (pins[&D::contextKind].value_or(kind) != kind)
    return false;
  return !limits.space || (limits.space->contextKinds >> static_cast<int>(kind) & 1 &&
                           (!hasRing(kind) || !limits.slides || limits.space->slidesInRings));
}

std::vector<ContextChoice> contextChoices(Decisions mesh, const SpaceLimits &limits,
                                          const Pins &pins) {
  std::vector<ContextChoice> choices;
  if (mesh.cp == 1) { // no context parallelism: plans have a fixed kind then
    if (pins[&D::contextKind].value_or(ContextKind::Ring) == ContextKind::Ring)
      choices.push_back({ContextKind::Ring});
    return choices;
  }
  // Heads of keys and values per rank.
  int64_t heads = limits.kvHeads % mesh.tp == 0 ? limits.kvHeads / mesh.tp : 0;
  auto add = [&](ContextKind kind, int64_t inner) {
    mesh.contextKind = kind;
    mesh.contextInner = inner;
    int64_t ranks = mesh.headRanks();
    bool isThere = ranks == 1 || (heads > 0 && heads % ranks == 0);
    if (isThere && mayMeet(kind, limits, pins) && permits(pins[&D::contextInner], inner))
      choices.push_back({kind, inner});
  };
  add(ContextKind::Ring, 1);
  add(ContextKind::AllToAll, 1);
  for (int64_t inner : divisorsOf(mesh.cp))
    if (inner > 1 && inner < mesh.cp)
      add(ContextKind::Both, inner);
  add(ContextKind::AllGather, 1);
  return choices;
}

} // namespace dtc

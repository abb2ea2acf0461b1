// Enumerates the ways in which layers save memory.
#include "compiler/search/planner/MemoryChoices.h"

#include "compiler/decide/decisions/Memory.h"
#include "compiler/decide/decisions/RecomputeMixes.h"
#include "compiler/decide/plan/Executable.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

using D = Decisions;

std::vector<RecomputeChoice> recomputeChoices(const Decisions &mesh, const SpaceLimits &limits,
                                              const Pins &pins) {
  constexpr Recompute none = Recompute::None, full = Recompute::Full;
  if (pins[&D::recompute])
    return {{*pins[&D::recompute], *pins[&D::recompute]}};
  Decisions recomputing = mesh;
  recomputing.recomputeMost = full;
  if (limits.executable && !isExecutable(recomputing))
    return {{none, none}};
  auto mayMix = [&](Recompute least, Recompute most) {
    return limits.space ? dtc::mayMix(least, most, *limits.space)
                        : least != most && isPartOf(least, most);
  };
  auto isLegal = [&](Recompute how) {
    return !limits.space || (limits.space->recompute >> static_cast<size_t>(how) & 1) != 0;
  };
  bool isEven = limits.space && limits.space->evenRecompute;
  // Returns true if `other` covers `choice`. A choice of selective recomputation or more needs less
  // memory than one whose layers recompute nothing, and is more likely to fit; full recomputation
  // in all layers has other seconds, and so other cuts.
  auto isWithin = [&](const RecomputeChoice &choice, const RecomputeChoice &other) {
    auto [least, most] = choice;
    if (least == other.least)
      return isEven ? least == most && most != other.most
                    : isPartOf(most, other.most) && most != other.most;
    bool isMixed = least != most || mayMix(other.least, least) || mayMix(least, other.most);
    return !isEven && isPartial(least) && isMixed && isPartOf(other.least, least) &&
           isPartOf(most, other.most);
  };
  std::vector<RecomputeChoice> all, choices;
  for (Recompute least : kRecomputes)
    for (Recompute most : kRecomputes)
      if (isLegal(least) && isLegal(most) && (least == most || mayMix(least, most)))
        all.push_back({least, most});
  llvm::copy_if(all, std::back_inserter(choices), [&](const RecomputeChoice &choice) {
    return llvm::none_of(all,
                         [&](const RecomputeChoice &other) { return isWithin(choice, other); });
  });
  // The choice with most alternatives comes first.
  llvm::sort(choices, [](const RecomputeChoice &a, const RecomputeChoice &b) {
    return std::pair(a.least, b.most) < std::pair(b.least, a.most);
  });
  return choices;
}

llvm::SmallVector<Decisions, 2> hostChoices(const Decisions &d, const SpaceLimits &limits,
                                            const Pins &pins) {
  auto with = [&](LayersOnHost layers) { return withLayersOnHost(d, layers); };
  if (pins[&D::layersOnHost])
    return {with(*pins[&D::layersOnHost])};
  auto isThere = [&](LayersOnHost layers) {
    return limits.mayOffloadActivations && isAllowed(with(layers), limits);
  };
  if (isThere(LayersOnHost::Some))
    return {with(LayersOnHost::Some)};
  llvm::SmallVector<Decisions, 2> choices{with(LayersOnHost::None)};
  if (isThere(LayersOnHost::All))
    choices.push_back(with(LayersOnHost::All));
  return choices;
}

} // namespace dtc

// Decides which kinds of recomputation the layers of one stage may mix.
#include "compiler/decide/decisions/RecomputeMixes.h"

namespace dtc {

bool mayMix(Recompute low, Recompute high, const LegalSpace &space) {
  bool isThere = hasWordOf(space.recompute, low) && hasWordOf(space.recompute, high);
  bool fromNone = low == Recompute::None, toFull = high == Recompute::Full;
  return isThere && low != high && isPartOf(low, high) &&
         hasWord(space.recomputeMixes, !fromNone ? 2
                                       : toFull  ? 1
                                                 : 0);
}

std::vector<std::pair<Recompute, Recompute>> recomputeMixes(const LegalSpace &space) {
  std::vector<std::pair<Recompute, Recompute>> mixes;
  for (Recompute low : kRecomputes)
    for (Recompute high : kRecomputes)
      if (mayMix(low, high, space))
        mixes.emplace_back(low, high);
  return mixes;
}

} // namespace dtc

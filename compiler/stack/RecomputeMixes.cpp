// Decides which kinds of recomputation the layers of one stage may mix.
#include "compiler/stack/RecomputeMixes.h"

namespace dtc {

static bool has(uint32_t set, size_t bit) { return (set >> bit & 1) != 0; }

bool mayMix(Recompute low, Recompute high, const LegalSpace &space) {
  bool isThere = has(space.recompute, static_cast<size_t>(low)) &&
                 has(space.recompute, static_cast<size_t>(high));
  bool fromNone = low == Recompute::None, toFull = high == Recompute::Full;
  return isThere && low != high && isPartOf(low, high) &&
         has(space.recomputeMixes, !fromNone ? 2
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

// Distinguishes network links.
#include "compiler/price/estimate/NetworkLevels.h"

#include "compiler/price/cost/UsedLevels.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

bool isNetwork(LinkKind kind) {
  return kind == LinkKind::InfiniBand || kind == LinkKind::Efa || kind == LinkKind::Ethernet;
}

bool spansNetwork(const RankGroup &group, const Topology &topology) {
  for (auto [level, ranks] : llvm::zip(topology.levels, ranksPerLevel(group, topology)))
    if (ranks > 1 && isNetwork(level.kind))
      return true;
  return false;
}

} // namespace dtc

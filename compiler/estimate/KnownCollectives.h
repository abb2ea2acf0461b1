// Seconds of collectives, each computed once.
#pragma once

#include "compiler/cost/Cost.h"

#include <map>

namespace dtc {

// Belongs to one topology.
class KnownCollectives {
public:
  explicit KnownCollectives(const Topology &topology) : topology(topology) {}

  // collectiveSeconds.
  double seconds(CollectiveKind kind, double bytes, const RankGroup &group);

private:
  using Spans = llvm::SmallVector<int64_t, 6>; // size and stride of each

  const Topology &topology;
  std::map<std::tuple<double, CollectiveKind, Spans>, double> known;
};

} // namespace dtc

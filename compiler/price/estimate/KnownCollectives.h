// Seconds of collectives, each computed once.
#pragma once

#include "compiler/price/cost/Cost.h"

#include <unordered_map>

namespace dtc {

// Caches collectiveSeconds for one topology.
class KnownCollectives {
public:
  explicit KnownCollectives(const Topology &topology) : topology(topology) {}

  // Returns collectiveSeconds(kind, bytes, group, topology).
  double seconds(CollectiveKind kind, double bytes, const RankGroup &group);

private:
  struct Key {
    CollectiveKind kind;
    double bytes;
    llvm::SmallVector<int64_t, 6> spans; // size and stride of each
    bool operator==(const Key &other) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const;
  };

  const Topology &topology;
  std::unordered_map<Key, double, Hash> known;
};

} // namespace dtc

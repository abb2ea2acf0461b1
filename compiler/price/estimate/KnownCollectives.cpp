// Seconds of collectives, each computed once.
#include "compiler/price/estimate/KnownCollectives.h"

#include "compiler/price/cost/CollectiveCost.h"

#include "llvm/ADT/Hashing.h"

#include <bit>

namespace dtc {

size_t KnownCollectives::Hash::operator()(const Key &key) const {
  return llvm::hash_combine(static_cast<int>(key.kind), std::bit_cast<uint64_t>(key.bytes),
                            llvm::hash_combine_range(key.spans.begin(), key.spans.end()));
}

double KnownCollectives::seconds(CollectiveKind kind, double bytes, const RankGroup &group) {
  Key key{kind, bytes, {}};
  for (const RankSpan &span : group) {
    key.spans.push_back(span.size);
    key.spans.push_back(span.stride);
  }
  auto [it, isNew] = known.try_emplace(std::move(key), 0.0);
  if (isNew)
    it->second = collectiveSeconds(kind, bytes, group, topology);
  return it->second;
}

} // namespace dtc

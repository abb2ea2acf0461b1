// Seconds of collectives, each computed once.
#include "compiler/estimate/KnownCollectives.h"

namespace dtc {

double KnownCollectives::seconds(CollectiveKind kind, double bytes, const RankGroup &group) {
  Spans spans;
  for (const RankSpan &span : group) {
    spans.push_back(span.size);
    spans.push_back(span.stride);
  }
  auto [it, isNew] = known.try_emplace({bytes, kind, std::move(spans)}, 0.0);
  if (isNew)
    it->second = collectiveSeconds(kind, bytes, group, topology);
  return it->second;
}

} // namespace dtc

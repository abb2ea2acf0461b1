#include "runtime/data/JoinedSamples.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace dtc::rt {
using format::text;

JoinedSamples::JoinedSamples(std::vector<std::unique_ptr<SampleSource>> given)
    : parts(std::move(given)) {
  for (const auto &part : parts) {
    names += text(names.empty() ? "" : " and ", part->name());
    ends.push_back((ends.empty() ? 0 : ends.back()) + part->samples());
  }
}

Status JoinedSamples::read(uint64_t index, uint64_t begin, std::span<std::byte> out) const {
  if (index >= samples())
    return Status::invalidArgument(
        text("reading '", names, "': wanted sample ", index, ", there are ", samples()));
  auto part = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), index) - ends.begin());
  return parts[part]->read(index - (part ? ends[part - 1] : 0), begin, out);
}

} // namespace dtc::rt

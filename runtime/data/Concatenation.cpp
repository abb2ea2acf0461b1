#include "runtime/data/Concatenation.h"

#include "runtime/data/TokenArray.h"

#include <algorithm>

namespace dtc::rt {

Concatenation::Concatenation(std::string name, DataOrigin origin,
                             std::vector<std::unique_ptr<TokenSource>> parts)
    : TokenSource(std::move(origin)), whole(std::move(name)), parts(std::move(parts)) {
  for (const auto &part : this->parts)
    ends.push_back((ends.empty() ? 0 : ends.back()) + part->size());
}

Status Concatenation::read(uint64_t begin, std::span<int32_t> out) const {
  DTC_RETURN_IF_ERROR(checkRange(begin, out.size(), size(), whole));
  auto part = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
  while (!out.empty()) {
    uint64_t first = begin - (part ? ends[part - 1] : 0);
    uint64_t count = std::min<uint64_t>(out.size(), ends[part] - begin);
    DTC_RETURN_IF_ERROR(parts[part]->read(first, out.first(count)));
    out = out.subspan(count);
    begin += count;
    ++part;
  }
  return {};
}

Status Concatenation::documentEnds(std::vector<uint64_t> &found) const {
  found.clear();
  std::vector<uint64_t> ofPart;
  for (size_t part = 0; part < parts.size(); ++part) {
    DTC_RETURN_IF_ERROR(parts[part]->documentEnds(ofPart));
    if (ofPart.empty() && parts[part]->size() > 0) {
      found.clear(); // a part that does not say leaves the whole without
      return {};
    }
    for (uint64_t end : ofPart)
      found.push_back(end + (part ? ends[part - 1] : 0));
  }
  return {};
}

} // namespace dtc::rt

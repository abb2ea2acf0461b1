#include "compiler/prove/verify/ValueRanges.h"

#include <algorithm>

namespace dtc {

void ValueRanges::append(const ValueRange &range) {
  if (!ranges.empty() && ranges.back().end == range.begin && ranges.back().value == range.value)
    ranges.back().end = range.end;
  else
    ranges.push_back(range);
}

void ValueRanges::sort() {
  std::sort(ranges.begin(), ranges.end(),
            [](const ValueRange &a, const ValueRange &b) { return a.begin < b.begin; });
}

Value ValueRanges::joined() const {
  Value all = Value::ofNothing();
  for (const ValueRange &each : ranges)
    all.join(each.value);
  return all;
}

Value ValueRanges::joined(int64_t begin, int64_t end) const {
  Value all = Value::ofNothing();
  auto first = std::partition_point(ranges.begin(), ranges.end(),
                                    [&](const ValueRange &each) { return each.end <= begin; });
  for (; first != ranges.end() && first->begin < end; ++first)
    all.join(first->value);
  return all;
}

} // namespace dtc

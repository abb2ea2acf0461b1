// Divisors of sizes that are spread over ranks.
#include "compiler/search/planner/Divisors.h"

#include <algorithm>
#include <cstdlib>

namespace dtc {

std::vector<int64_t> divisorsOf(int64_t value) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= value; ++d)
    if (value % d == 0) {
      divisors.push_back(d);
      if (d * d != value)
        divisors.push_back(value / d);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

int64_t nearestOf(const std::vector<int64_t> &choices, int64_t value) {
  return *std::min_element(choices.begin(), choices.end(), [&](int64_t a, int64_t b) {
    return std::llabs(a - value) < std::llabs(b - value);
  });
}

} // namespace dtc

// Divisors of sizes that are spread over ranks. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dtc {

// Returns all divisors of a value, the smallest first.
std::vector<int64_t> divisorsOf(int64_t value);

// Returns the choice that is nearest to a value; the first of two. Needs a choice.
int64_t nearestOf(const std::vector<int64_t> &choices, int64_t value);

} // namespace dtc

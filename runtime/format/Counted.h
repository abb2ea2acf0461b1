// Counts with their unit, in the singular or the plural.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dtc::format {

// Returns the number and the unit, which gets an 's' unless the number is 1.
// Example: counted(1, "step") is "1 step", and counted(2, "step") is "2 steps".
inline std::string counted(uint64_t count, std::string_view unit) {
  return std::to_string(count) + " " + std::string(unit) + (count == 1 ? "" : "s");
}

} // namespace dtc::format

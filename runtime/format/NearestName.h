// Suggests a name for a misspelled one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dtc::format {

// Returns the name in `known` that `name` is most likely a misspelling of, or "" if none is near.
// Case does not count. A name that begins with `name` (3 characters or more) wins; otherwise the
// first one with the smallest edit distance, of at most a third of the characters and at least 1;
// two neighbours that are swapped count as one edit.
// Example: nearestName("pln", {"plan", "compile"}) is "plan".
std::string nearestName(std::string_view name, std::span<const std::string_view> known);

} // namespace dtc::format

// Counts in messages. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>

namespace dtc {

// Returns a count with its noun. Example: plural(2, "node") is "2 nodes".
std::string plural(int64_t count, const char *noun);

} // namespace dtc

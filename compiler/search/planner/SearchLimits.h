// The default limits of a search.
#pragma once

#include <cstdint>

namespace dtc {

// The default limit on the work of a search, in chunks costed, tasks scheduled and bounds computed.
constexpr int64_t kSearchWork = 30'000'000;
// The default limit on the seconds of a search. It is a guard: no machine should reach it before
// the limit on work.
constexpr double kSearchSeconds = 600;

} // namespace dtc

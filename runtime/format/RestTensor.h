// The state in which each rank of data parallelism keeps what it has not sent of a gradient.
#pragma once

#include <string_view>

namespace dtc::format {

// The end of its name. Its first dim counts ranks, each of which has its own part; all others are
// those of the parameter. The sum over the ranks is what the parameter has not been updated with.
inline constexpr std::string_view kRestSuffix = ".compress_error";

} // namespace dtc::format

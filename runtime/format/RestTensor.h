// The states in which ranks of data parallelism keep what they have not sent of a gradient.
#pragma once

#include <string_view>

namespace dtc::format {

// The end of the name of what each rank has not sent. Its first dim counts ranks, each of which has
// its own part; all others are those of the parameter. The sum over the ranks is what the parameter
// has not been updated with.
inline constexpr std::string_view kRestSuffix = ".compress_error";
// Returns true if it is the name of a state of a compressed gradient.
inline bool isOfCompression(std::string_view name) {
  return name.find(".compress_") != std::string_view::npos;
}

} // namespace dtc::format

// Builds messages from pieces without streams or exceptions.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace dtc::format {

// Appends a piece of text.
inline void appendText(std::string &out, std::string_view piece) { out += piece; }
// Appends a number; true or false for a bool.
template <typename T>
requires std::is_arithmetic_v<T>
void appendText(std::string &out, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<T>) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%g", static_cast<double>(value));
    out += digits;
  } else {
    out += std::to_string(value);
  }
}

// Returns the pieces joined. Example: text("gemm needs ", 12, " bytes") is "gemm needs 12 bytes".
template <typename... Pieces> std::string text(const Pieces &...pieces) {
  std::string out;
  (appendText(out, pieces), ...);
  return out;
}

} // namespace dtc::format

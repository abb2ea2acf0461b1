// Returns texts with one place changed, for tests of readers' messages.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace dtc {

// Returns `text` with the first `from` replaced by `to`.
inline std::string edited(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

} // namespace dtc

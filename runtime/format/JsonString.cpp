#include "runtime/format/JsonString.h"

#include <cstdio>

namespace dtc::format {

std::string jsonString(std::string_view value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') {
      out += c;
      continue;
    }
    char digits[8];
    std::snprintf(digits, sizeof(digits), "\\u%04x", static_cast<unsigned>(c));
    out += digits;
  }
  return out + "\"";
}

} // namespace dtc::format

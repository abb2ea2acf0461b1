// Guards the JSON parser.
#pragma once

#include <string_view>

namespace dtc::rt {

// Returns true if brackets nest deeper than `most` levels: the parser would spend memory on each
// level of a file that was made to exhaust it.
inline bool nestsDeeperThan(std::string_view json, int most) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most)
        return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

} // namespace dtc::rt

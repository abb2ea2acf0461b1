// Writes strings of JSON.
#pragma once

#include <string>
#include <string_view>

namespace dtc::format {

// Returns `value` as a string of JSON, in its double quotes. Control characters are escaped; bytes
// that are not UTF-8 stay as they are. Example: jsonString("a\"b\n") is "\"a\\\"b\\u000a\"".
std::string jsonString(std::string_view value);

} // namespace dtc::format

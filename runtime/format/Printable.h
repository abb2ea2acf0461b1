// Makes messages that quote names from files fit for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtc::format {

// The limits of text for people: of a name in single quotes, of a line, and of a whole message.
inline constexpr size_t mostQuotedBytes = 300, mostLineBytes = 4000, mostMessageBytes = 16000;

// Returns `message` without bytes that steer a terminal, and cut if a name or a line is too long.
// Control characters, and bytes that are not UTF-8, are written as "\x1b"; only line feeds and tabs
// outside of single quotes stay. All other text is returned as it is.
// Example: "opening 'a\x1b[31m.dte'" is "opening 'a\\x1b[31m.dte'".
std::string printable(std::string_view message);

} // namespace dtc::format

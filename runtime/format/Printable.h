// Messages that quote names from files, made fit for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtc::format {

// What a person reads: of one name in single quotes, of one line, and of a whole message.
inline constexpr size_t mostQuotedBytes = 300, mostLineBytes = 4000, mostMessageBytes = 16000;

// `message` without what would steer a terminal, and cut where a name or a line has no end. Control
// characters, and bytes that are not UTF-8, are written as "\x1b"; only line feeds and tabs outside
// of single quotes stay. Text that needs none of it comes back as it is.
// Example: "opening 'a\x1b[31m.dte'" is "opening 'a\\x1b[31m.dte'".
std::string printable(std::string_view message);

} // namespace dtc::format

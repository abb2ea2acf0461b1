// Pieces of shell scripts that the completions of several shells share.
#pragma once

#include "tools/cli/CommandTree.h"

#include <functional>
#include <string>

namespace dtc {

// Calls `visit` with each command below `program` and with itself. `path` is "" for the program and
// " NAME" after its parent's path for each command, such as " topology show".
inline void
forEachCommand(const CommandInfo &program,
               const std::function<void(const std::string &path, const CommandInfo &)> &visit,
               const std::string &path = "") {
  visit(path, program);
  for (const CommandInfo &command : program.commands)
    forEachCommand(command, visit, path + " " + command.name);
}

// Returns `words` with a space between them.
inline std::string spaced(const std::vector<std::string> &words) {
  return CLI::detail::join(words, " ");
}

// Returns the shell command that prints the names of `catalogue`, one per line: the first column of
// what the program prints, whose first line has the columns' names.
inline std::string catalogueNames(const std::string &catalogue) {
  return catalogue + " 2>/dev/null | awk 'NR > 1 {print $1}'";
}

// Returns `text` between single quotes, in which no shell expands anything. `quote` replaces each
// single quote of the text.
inline std::string quoted(const std::string &text, const std::string &quote) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? quote : std::string(1, c);
  return result + "'";
}

// Returns the first line of `text`.
inline std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

// Returns `name` as part of a shell function's name.
inline std::string identifier(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}

} // namespace dtc

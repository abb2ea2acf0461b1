// Scripts by which shells complete the words of a command line.
#pragma once

#include "tools/cli/CommandTree.h"

#include <string>
#include <vector>

namespace dtc {

// Returns the names of the shells that completionScript() knows: bash, zsh, fish.
std::vector<std::string> completionShells();

// Returns the script that makes `shell` (one of completionShells()) complete the commands, flags
// and values of `program`. Values of no known list are completed as names of files. Catalogues are
// listed when they are needed, by running the program.
std::string completionScript(const CommandInfo &program, const std::string &shell);

} // namespace dtc

// Completion in zsh, whose script calls _arguments for each command.
#pragma once

#include "tools/cli/CommandTree.h"

#include <string>

namespace dtc {

// Returns the completion script of `program` for zsh; see completionScript().
std::string zshCompletion(const CommandInfo &program);

} // namespace dtc

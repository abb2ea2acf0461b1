// Completion in fish, whose script has a condition for each command.
#pragma once

#include "tools/cli/CommandTree.h"

#include <string>

namespace dtc {

// Returns the completion script of `program` for fish; see completionScript().
std::string fishCompletion(const CommandInfo &program);

} // namespace dtc

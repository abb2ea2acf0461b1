// Completion in bash, whose script calls a function of the script.
#pragma once

#include "tools/cli/CommandTree.h"

#include <string>

namespace dtc {

// Returns the completion script of `program` for bash; see completionScript().
std::string bashCompletion(const CommandInfo &program);

} // namespace dtc

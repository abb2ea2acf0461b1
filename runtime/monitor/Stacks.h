// Stacks of a rank's threads, which the rank writes into a file that its keeper reads.
#pragma once

#include "runtime/monitor/Progress.h"

#include <string>
#include <vector>

namespace dtc::rt {

// In the rank: a thread that crashes writes its stack to `file` before the process ends by the
// signal, as do threads that collectStacks() asks. A handler that is there already stays.
void installStackHandlers(ProgressPage &page, int file);

// In the keeper: the stacks of the threads that are watched, asked one after another; of one that
// does not answer where it is, as the system knows. Takes a second at most.
std::string collectStacks(int process, const ProgressPage &page, int file);

// Returns the stacks that a crash has written to `file`.
std::string readStacks(int file);

} // namespace dtc::rt

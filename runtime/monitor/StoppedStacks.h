// Stacks of a rank that is stopped by a signal, so that its threads cannot write them: its keeper reads
// their registers and memory.
#pragma once

#include "runtime/monitor/ForeignMemory.h"
#include "runtime/monitor/Progress.h"

namespace dtc::rt {

// Of the threads that are watched (Stacks.h), in the same words. The process stays as it is. Takes half a second
// at most, and names of functions.
std::string stacksOfStopped(pid_t process, const ProgressPage &page);

// Addresses of instructions, the innermost first, of one thread of it; none where they can't be read.
std::vector<uint64_t> framesOfStopped(pid_t process, pid_t thread,
                                      const std::vector<Mapping> &mappings);

// Where the system says that a thread of a process is: ", state D, in call 0 to the system:", and below that the
// instruction, where it tells.
std::string placeOfThread(pid_t process, pid_t thread);

} // namespace dtc::rt

// Stacks of a rank that is stopped by a signal, so that its threads cannot write them: its keeper
// reads their registers and memory.
#pragma once

#include "runtime/monitor/ForeignMemory.h"
#include "runtime/monitor/Progress.h"

namespace dtc::rt {

// Returns the stacks of the registered threads (Stacks.h) of a stopped process, in the same format,
// and leaves the process as it is. Takes at most half a second, plus the lookup of function names.
std::string stacksOfStopped(pid_t process, const ProgressPage &page);

// Addresses of instructions, the innermost first, of one thread of it; none where they can't be
// read.
std::vector<uint64_t> framesOfStopped(pid_t process, pid_t thread,
                                      const std::vector<Mapping> &mappings);

// Returns the kernel's view of a thread's position: ", state D, in call 0 to the system:", followed
// on the next line by the instruction if known.
std::string stateOfThread(pid_t process, pid_t thread);

} // namespace dtc::rt

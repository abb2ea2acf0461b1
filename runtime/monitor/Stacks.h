// Stacks of a rank's threads, which the rank writes into a file that its keeper reads.
#pragma once

#include "runtime/monitor/Progress.h"

#include <string>

namespace dtc::rt {

// In the rank: a thread that crashes writes its stack to `file` before the process ends by the
// signal, as do threads that collectStacks() asks. A handler that is there already stays.
void installStackHandlers(ProgressPage &page, int file);

// In the keeper: the stacks of the host's thread and of those of streams that run something, asked
// one after another; empty where the rank does not answer. Takes a second at most.
std::string collectStacks(int process, const ProgressPage &page, int file);

// What a crash has left in `file`.
std::string readStacks(int file);

// backtrace_symbols' lines with names of functions in them that it does not know, by the tables of
// the files: "/usr/bin/dtrun(+0x1234) [0x55..]" becomes "/usr/bin/dtrun: dtc::rt::f(int) +0x34".
std::string withNames(const std::string &lines);

} // namespace dtc::rt

// Stacks of a rank's threads, which the rank writes into a file that its keeper reads.
#pragma once

#include "runtime/monitor/Progress.h"

#include <string>
#include <vector>

namespace dtc::rt {

// In the rank: a thread that crashes writes its stack to `file` before the process ends by the
// signal, as do threads that collectStacks() asks. A handler that is there already stays.
void installStackHandlers(ProgressPage &page, int file);

// "the thread of stream 0 (4711)", and so on.
struct WatchedThread {
  std::string name;
  int id = 0;
};
// The host's thread and those of streams that run something, the host's last.
std::vector<WatchedThread> watchedThreads(const ProgressPage &page);

// In the keeper: the stacks of the threads that are watched, asked one after another; of one that
// does not answer where it is, as the system knows. Takes a second at most.
std::string collectStacks(int process, const ProgressPage &page, int file);

// Returns the stacks that a crash has written to `file`.
std::string readStacks(int file);

// backtrace_symbols' lines with names of functions in them that it does not know, by the tables of
// the files: "/usr/bin/dtrun(+0x1234) [0x55..]" becomes "/usr/bin/dtrun: dtc::rt::f(int) +0x34".
std::string withNames(const std::string &lines);

} // namespace dtc::rt

// The threads of a rank whose stacks its keeper wants.
#pragma once

#include "runtime/monitor/Progress.h"

#include <string>
#include <vector>

namespace dtc::rt {

// "the thread of stream 0 (4711)", and so on.
struct WatchedThread {
  std::string name;
  int id = 0;
};
// The host's thread and those of streams that run something, the host's last.
std::vector<WatchedThread> watchedThreads(const ProgressPage &page);

} // namespace dtc::rt

#include "runtime/monitor/WatchedThreads.h"

#include "runtime/base/Text.h"

namespace dtc::rt {
using format::text;

std::vector<WatchedThread> watchedThreads(const ProgressPage &page) {
  std::vector<WatchedThread> out;
  for (size_t i = 0; i < ProgressPage::kStreams; ++i) {
    bool isHost = i == ProgressPage::kHostStream;
    int thread = page.streams[i].thread.load();
    if (thread > 0 && (isHost || page.streams[i].moves.load() % 2 == 1))
      out.push_back(
          {text(isHost ? std::string("the host's thread") : text("the thread of stream ", i), " (",
                thread, ")"),
           thread});
  }
  return out;
}

} // namespace dtc::rt

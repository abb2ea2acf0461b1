#include "runtime/checkpoint/Background.h"

#include <chrono>
#include <csignal>
#include <utility>

namespace dtc::rt {

Background::~Background() { (void)finish().ok(); }

void Background::start(std::function<Status()> work) {
  done = false;
  // Blocks all signals in the new thread: earlier threads handle them.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  thread = std::thread([this, work = std::move(work)] {
    result = work();
    {
      std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_all();
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Background::waitFor(double seconds) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, std::chrono::duration<double>(seconds),
                          [&] { return done.load(); });
}

Status Background::finish() {
  if (thread.joinable())
    thread.join();
  return std::exchange(result, {});
}

} // namespace dtc::rt

// Runs work beside the thread that asks for it.
#pragma once

#include "runtime/base/Status.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dtc::rt {

// Runs one piece of work at a time, in a thread of its own.
// Example: background.start([&] { return file.commit(); }); ... train ...
//   if (background.isDone()) status = background.finish();
class Background {
public:
  Background() = default;
  ~Background();
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  // Starts work. Earlier work must have been finished.
  void start(std::function<Status()> work);
  // Returns true if the work is over, or none was started.
  bool isDone() const { return done; }
  // Waits at most `seconds` for the end of the work; returns isDone().
  bool waitFor(double seconds);
  // Waits for the end of the work, and returns its result once; ok if there is none.
  Status finish();

private:
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> done = true;
  Status result;
};

} // namespace dtc::rt

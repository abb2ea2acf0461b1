// A piece of work beside the thread that asks for it.
#pragma once

#include "runtime/base/Status.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace dtc::rt {

// One piece of work at a time, in a thread of its own.
// Example: background.start([&] { return file.commit(); }); ... train ...
//   if (background.isDone()) status = background.finish();
class Background {
public:
  Background() = default;
  ~Background();
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  // What was started before must have been finished.
  void start(std::function<Status()> work);
  // Whether it is over; also where nothing was started.
  bool isDone() const { return done; }
  // Waits for that, at most so long.
  bool waitFor(double seconds);
  // Waits for its end, and gives its result once; ok where there is none.
  Status finish();

private:
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> done = true;
  Status result;
};

} // namespace dtc::rt

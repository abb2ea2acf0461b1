// Measures which of several ways to do something is fastest here.
#pragma once

#include "runtime/cuda/CudaSteps.h"

#include <chrono>
#include <functional>
#include <vector>

namespace dtc::rt {

class WorkTimer {
public:
  using Clock = std::chrono::steady_clock;
  // Says it to the stream.
  using Way = std::function<Status()>;

  WorkTimer(const cu::Driver &driver, EventPool &pool, cu::Stream stream)
      : driver(driver), pool(pool), stream(stream) {}
  ~WorkTimer();

  // `best` becomes the number of the fastest of `ways`, of those that do; of alike ones the first. The first that does where
  // `deadline` passes before each was run; what lies where they write is lost. Unavailable where none does.
  Status choose(const std::vector<Way> &ways, Clock::time_point deadline, size_t &best);

private:
  // Seconds of each of `runs`.
  Status time(const Way &way, int runs, double &seconds);

  const cu::Driver &driver;
  EventPool &pool;
  cu::Stream stream;
  cu::Event begin = nullptr, end = nullptr;
};

} // namespace dtc::rt

// Measures which of several implementations is fastest on this device.
#pragma once

#include "runtime/cuda/CudaSteps.h"

#include <chrono>
#include <functional>
#include <vector>

namespace dtc::rt {

// Times work on one stream.
class WorkTimer {
public:
  using Clock = std::chrono::steady_clock;
  // Enqueues the work.
  using Way = std::function<Status()>;

  WorkTimer(const cu::Driver &driver, EventPool &pool, cu::Stream stream)
      : driver(driver), pool(pool), stream(stream) {}
  ~WorkTimer();

  // Sets `best` to the number of the fastest of the usable `ways`, the first of equal ones. If
  // `deadline` passes before each has run, it is the first usable one. The contents of their
  // outputs are lost. Fails with Unavailable if none is usable.
  Status choose(const std::vector<Way> &ways, Clock::time_point deadline, size_t &best);

private:
  // Measures the seconds of each of `runs`.
  Status time(const Way &way, int runs, double &seconds);

  const cu::Driver &driver;
  EventPool &pool;
  cu::Stream stream;
  cu::Event begin = nullptr, end = nullptr;
};

} // namespace dtc::rt

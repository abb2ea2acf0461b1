// The steps that a device has enqueued: when they are done, and when what they ran began and ended.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/Device.h"

#include <deque>
#include <functional>
#include <vector>

namespace dtc::rt {

// Events of one device with times, used again and again.
class EventPool {
public:
  explicit EventPool(const cu::Driver &driver) : driver(driver) {}
  ~EventPool();

  Status take(cu::Event &event);
  void give(cu::Event event) { unused.push_back(event); }

private:
  const cu::Driver &driver;
  std::vector<cu::Event> unused;
};

// Something that ran between two events.
struct TimedWork {
  cu::Event begin = nullptr, end = nullptr;
  TimeRange *times = nullptr;
};

class CudaSteps {
public:
  CudaSteps(const cu::Driver &driver, EventPool &pool) : driver(driver), pool(pool) {}
  ~CudaSteps();

  // Starts the clock, which reads 0 now. Before the first step; `stream` has nothing to do.
  Status start(cu::Stream stream);

  // Marks the beginning of a step on `stream`; `times` become that moment, where they are wanted.
  Status begin(cu::Stream stream, TimeRange *times);
  // Calls `work`, which enqueues something on `stream` in the step that has begun; `times` become those of it.
  Status time(cu::Stream stream, TimeRange *times, const std::function<Status()> &work);
  // Marks its end.
  Status end(cu::Stream stream, TimeRange *times, uint64_t &step);

  // Finds out which steps are done by now, and writes their times.
  Status poll();
  uint64_t numDone() const { return done; }
  uint64_t numBegun() const { return ended; }

private:
  struct Step {
    cu::Event begin = nullptr, end = nullptr;
    TimeRange *beginTimes = nullptr, *endTimes = nullptr;
    std::vector<TimedWork> timed;
  };

  Status finish(Step &step);
  // Of an event that has happened; `base` at `baseSeconds`.
  Status secondsOf(cu::Event event, double &seconds) const;
  void giveBack(Step &step);

  const cu::Driver &driver;
  EventPool &pool;
  // The last beginning of a step that was read: the difference of two events is an f32 of milliseconds, too coarse for a
  // whole run.
  cu::Event base = nullptr;
  double baseSeconds = 0;
  Step open;
  std::deque<Step> steps; // not known to be done
  uint64_t ended = 0, done = 0;
};

} // namespace dtc::rt

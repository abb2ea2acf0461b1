// The steps that a device has enqueued: their completion, and the times of their commands.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/Device.h"

#include <deque>
#include <functional>
#include <vector>

namespace dtc::rt {

// A pool of timed events of one device.
class EventPool {
public:
  explicit EventPool(const cu::Driver &driver) : driver(driver) {}
  ~EventPool();

  // Takes an event from the pool, or creates one.
  Status take(cu::Event &event);
  // Returns an event to the pool.
  void give(cu::Event event) { unused.push_back(event); }

private:
  const cu::Driver &driver;
  std::vector<cu::Event> unused;
};

// Work that ran between two events.
struct TimedWork {
  cu::Event begin = nullptr, end = nullptr;
  TimeRange *times = nullptr;
};

// Tracks the completion and the times of steps.
class CudaSteps {
public:
  CudaSteps(const cu::Driver &driver, EventPool &pool) : driver(driver), pool(pool) {}
  ~CudaSteps();

  // Starts the clock at 0. Must be called before the first step, while `stream` is idle.
  Status start(cu::Stream stream);

  // Marks the beginning of a step on `stream`; `times` gets that moment unless it is null.
  Status begin(cu::Stream stream, TimeRange *times);
  // Calls `work`, which enqueues work on `stream` in the current step; `times` gets its times.
  Status time(cu::Stream stream, TimeRange *times, const std::function<Status()> &work);
  // Marks the end of the current step; `step` gets its number.
  Status end(cu::Stream stream, TimeRange *times, uint64_t &step);

  // Finds the steps that have completed by now, and writes their times.
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
  // Returns the time of an event that has completed; `base` is at `baseSeconds`.
  Status secondsOf(cu::Event event, double &seconds) const;
  void giveBack(Step &step);

  const cu::Driver &driver;
  EventPool &pool;
  // The last beginning of a step that was read: the difference of two events is an f32 of
  // milliseconds, too coarse for a whole run.
  cu::Event base = nullptr;
  double baseSeconds = 0;
  Step open;
  std::deque<Step> steps; // steps that are not known to be complete
  uint64_t ended = 0, done = 0;
};

} // namespace dtc::rt

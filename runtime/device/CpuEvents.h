// Events between the streams of the CPU: numbers of records, and waits that can be cut short.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace dtc::rt {

// Counts the records of events, so that streams can wait for them.
class CpuEvents {
public:
  // Sets the number of events, before any is used.
  void resize(int count) { records.assign(static_cast<size_t>(count), 0); }

  // Counts a record of an event and wakes the streams that wait.
  void record(int event) {
    {
      std::lock_guard lock(mutex);
      ++records[static_cast<size_t>(event)];
    }
    changed.notify_all();
  }

  // Returns when `event` was recorded `ordinal` times in all; false if abort() came first. Numbers
  // wrap around: no two that are compared are further apart than a ring is long.
  bool wait(int event, uint32_t ordinal) {
    std::unique_lock lock(mutex);
    auto passed = [&] {
      return static_cast<int32_t>(records[static_cast<size_t>(event)] - ordinal) >= 0;
    };
    changed.wait(lock, [&] { return passed() || aborted; });
    return passed();
  }

  // Ends all waits, for good.
  void abort() {
    {
      std::lock_guard lock(mutex);
      aborted = true;
    }
    changed.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<uint32_t> records;
  bool aborted = false;
};

} // namespace dtc::rt

// The last collectives and transfers of a rank, in memory that another process may read: they are
// there whatever end the rank comes to.
//
// One thread schedules, those of streams say when an event starts and is completed; nobody waits
// for anybody. A reader sees each event whole, or not at all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dtc::rt {

// Times are nanoseconds of CLOCK_MONOTONIC, 0 for what has not happened.
struct FlightEvent {
  uint64_t id = 0;       // increases from 1 in order of creation
  uint64_t tag = 0;      // tag of the instruction, as in Mark
  uint64_t sequence = 0; // number within its group, from 1; sends and receives count separately
  uint32_t group = 0;
  uint32_t step = 0, entry = 0; // training step, and the entry that was run in it
  int64_t created = 0, started = 0, completed = 0;
};

// Lies in zeroed memory, shared or not; needs no construction and no end.
class FlightRecorder {
public:
  static constexpr size_t kEvents = 2000;

  // Returns the event's id.
  uint64_t schedule(uint64_t tag, uint32_t group, uint64_t sequence, int64_t now, uint32_t step = 0,
                    uint32_t entry = 0) {
    uint64_t id = last.load(std::memory_order_relaxed) + 1;
    Slot &slot = slots[id % kEvents];
    slot.id.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    slot.tag.store(tag, std::memory_order_relaxed);
    slot.sequence.store(sequence, std::memory_order_relaxed);
    slot.group.store(group, std::memory_order_relaxed);
    slot.step.store(step, std::memory_order_relaxed);
    slot.entry.store(entry, std::memory_order_relaxed);
    slot.created.store(now, std::memory_order_relaxed);
    slot.started.store(0, std::memory_order_relaxed);
    slot.completed.store(0, std::memory_order_relaxed);
    slot.id.store(id, std::memory_order_release);
    last.store(id, std::memory_order_release);
    return id;
  }
  // An event that is among the last ones no more is left alone.
  void start(uint64_t id, int64_t now) {
    if (Slot &slot = slots[id % kEvents]; slot.id.load(std::memory_order_relaxed) == id)
      slot.started.store(now, std::memory_order_relaxed);
  }
  // Sets the end of an event.
  void complete(uint64_t id, int64_t now) {
    if (Slot &slot = slots[id % kEvents]; slot.id.load(std::memory_order_relaxed) == id)
      slot.completed.store(now, std::memory_order_relaxed);
  }

  // Copies of the last kEvents events, oldest first.
  std::vector<FlightEvent> read() const;
  // The event of that id; its id is 0 where it is among the last ones no more.
  FlightEvent find(uint64_t id) const;

private:
  struct Slot {
    std::atomic<uint64_t> id, tag, sequence;
    std::atomic<uint32_t> group, step, entry;
    std::atomic<int64_t> created, started, completed;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share it");

  std::atomic<uint64_t> last;
  Slot slots[kEvents];
};

} // namespace dtc::rt

#include "runtime/monitor/FlightRecorder.h"

#include <algorithm>

namespace dtc::rt {

FlightEvent FlightRecorder::find(uint64_t id) const {
  const Slot &slot = slots[id % kEvents];
  FlightEvent event;
  if (id == 0 || slot.id.load(std::memory_order_acquire) != id)
    return event;
  event.tag = slot.tag.load(std::memory_order_relaxed);
  event.sequence = slot.sequence.load(std::memory_order_relaxed);
  event.group = slot.group.load(std::memory_order_relaxed);
  event.step = slot.step.load(std::memory_order_relaxed);
  event.entry = slot.entry.load(std::memory_order_relaxed);
  event.created = slot.created.load(std::memory_order_relaxed);
  event.started = slot.started.load(std::memory_order_relaxed);
  event.completed = slot.completed.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  event.id = slot.id.load(std::memory_order_relaxed) == id ? id : 0;
  return event;
}

std::vector<FlightEvent> FlightRecorder::read() const {
  uint64_t end = last.load(std::memory_order_acquire);
  std::vector<FlightEvent> events;
  for (uint64_t id = end < kEvents ? 1 : end - kEvents + 1; id <= end && id != 0; ++id)
    if (FlightEvent event = find(id); event.id != 0)
      events.push_back(event);
  return events;
}

} // namespace dtc::rt

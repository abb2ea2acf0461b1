// Vector clocks of streams and events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dtc {

// Orders the instructions of a program by records and waits. An instruction happened before another
// one if the clock of the other one's stream has reached its time.
class Clocks {
public:
  // Per stream, the time up to which its instructions are known to be done.
  using Clock = std::vector<uint32_t>;

  Clocks(size_t streams, size_t events) : streams(streams, Clock(streams)), events(events) {}

  // Begins the next instruction of a stream.
  void tick(uint8_t stream) { ++streams[stream][stream]; }
  // Returns the time of the instruction that a stream is at.
  uint32_t timeOf(uint8_t stream) const { return streams[stream][stream]; }
  // Returns true if the instruction of stream `other` at `time` is done when `stream` goes on.
  bool isDone(uint8_t stream, uint8_t other, uint32_t time) const {
    return streams[stream][other] >= time;
  }
  // The event stands for all that its stream knows to be done.
  void record(uint8_t stream, uint32_t event) { events[event] = streams[stream]; }
  // The stream goes on when what the event stands for is done.
  void wait(uint8_t stream, uint32_t event) {
    for (size_t other = 0; other < events[event].size(); ++other)
      streams[stream][other] = std::max(streams[stream][other], events[event][other]);
  }

  // Returns the number of streams.
  uint32_t numStreams() const { return static_cast<uint32_t>(streams.size()); }
  // Returns the clock of each stream.
  const std::vector<Clock> &ofStreams() const { return streams; }
  // Returns the clock of each event; empty where it was not recorded yet.
  const std::vector<Clock> &ofEvents() const { return events; }
  // Makes an event stand for what `clock` says.
  void setEvent(uint32_t event, const Clock &clock) { events[event] = clock; }

private:
  std::vector<Clock> streams, events;
};

} // namespace dtc

// A queue between the host and the thread of one stream: as long as it was made, never longer.
#pragma once

#include "runtime/device/Device.h"

#include <atomic>

namespace dtc::rt {

// Something enqueued on a stream of the CPU.
struct Work {
  enum class Kind { Run, Record, Wait, Copy, EndStep };
  Kind kind = Kind::Run;
  Mark mark;
  Command command;      // Run
  int event = 0;        // Record, Wait
  uint32_t ordinal = 0; // Wait: for which record of the event, from 1; 0 for none
  char *to = nullptr;   // Copy
  const char *from = nullptr;
  uint64_t bytes = 0;
};

// One thread puts work in, another takes it out; both sleep where they have to wait. The slots and
// the room for operands in them are made once: putting a command in copies it and allocates nothing.
class WorkRing {
public:
  static constexpr uint32_t kSlots = 1024; // a power of two

  WorkRing(size_t maxBuffers, size_t maxScalars);

  // The next slot to fill; waits until there is one. Null once stopped. The slot holds what was in
  // it before.
  Work *beginPut();
  void endPut();

  // The oldest work; waits for it. Null once stopped.
  Work *beginTake();
  void endTake();

  // Both sides stop waiting, for good. Any thread may call it.
  void stop();

private:
  std::vector<Work> slots;
  // Numbers of puts and takes so far; they wrap around. Each is written by one side.
  alignas(64) std::atomic<uint32_t> puts{0};
  alignas(64) std::atomic<uint32_t> takes{0};
  std::atomic<bool> stopped{false};
};

} // namespace dtc::rt

// A queue of fixed length between the host and the thread of one stream.
#pragma once

#include "runtime/device/Device.h"

#include <atomic>

namespace dtc::rt {

// Something enqueued on a stream of the CPU.
struct Work {
  // The kinds of work.
  enum class Kind { Run, Record, Wait, Copy, EndStep };
  Kind kind = Kind::Run;
  Mark mark;
  Command command;      // Run
  int event = 0;        // Record, Wait
  uint32_t ordinal = 0; // Wait: number of the record to wait for, from 1; 0 for none
  char *to = nullptr;   // Copy
  const char *from = nullptr;
  uint64_t bytes = 0;
};

// A queue of commands. One thread puts work in, another takes it out; both sleep while they have to
// wait. Slots, and the room for operands in them, are made once: putting a command in copies it and
// allocates nothing.
class WorkRing {
public:
  static constexpr uint32_t kSlots = 1024; // a power of two

  WorkRing(size_t maxBuffers, size_t maxScalars);

  // Returns the next slot to fill, with its old content; waits until there is one. Null once
  // stopped.
  Work *beginPut();
  // Hands the slot of beginPut to the other side.
  void endPut();

  // Returns the oldest work; waits for it. Null once stopped.
  Work *beginTake();
  // Frees the slot of beginTake.
  void endTake();

  // Ends the waits of both sides, for good. Any thread may call it.
  void stop();

private:
  std::vector<Work> slots;
  // The numbers of puts and takes so far, which wrap around. Each is written by one side.
  alignas(64) std::atomic<uint32_t> puts{0};
  alignas(64) std::atomic<uint32_t> takes{0};
  std::atomic<bool> stopped{false};
};

} // namespace dtc::rt

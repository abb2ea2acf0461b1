// What the executor needs of a device: memory, streams, events, and running instructions. CpuDevice
// implements it.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dtc::rt {

// An instruction with all that depends on the rank and the run filled in: buffers and scalars in the order of its
// description (runtime/format/Instructions.cpp), null for an absent buffer. src and dst of a
// StridedCopy are moved by their offsets.
// Sizes are read from `source`, which has been verified.
struct Command {
  const format::Instruction *source = nullptr;
  std::vector<char *> buffers; // device addresses
  std::vector<int64_t> scalars;
  uint64_t bytes = 0;     // of the buffers together
  int symbol = -1;        // Launch: what Device::findSymbol gave
  bool startsSum = false; // it writes where it would add
};

// One device of one rank. Not thread-safe but for issue, record, wait on different streams.
class Device {
public:
  virtual ~Device() = default;

  // Whether the machine can run code that needs `features` (names of /proc/cpuinfo on a CPU).
  // Unavailable names the ones that are missing.
  virtual Status checkFeatures(const std::vector<std::string> &features) = 0;

  // Loads the bytes of a code segment, whose hash has been checked. Segments are numbered in order
  // of loading.
  virtual Status loadCode(std::span<const uint8_t> object) = 0;
  // The function `name` of loaded code `segment`. NotFound names both.
  virtual Status findSymbol(int segment, const std::string &name, int &symbol) = 0;

  // Makes the one arena: `bytes` zero bytes, aligned for every buffer. Once.
  virtual Status allocateArena(uint64_t bytes) = 0;
  virtual char *arena() = 0;

  // Blocking copies between host memory and device addresses, for use between steps.
  virtual Status copyIn(char *to, const void *from, uint64_t bytes) = 0;
  virtual Status copyOut(void *to, const char *from, uint64_t bytes) = 0;

  virtual Status createStreams(int streams, int events) = 0;

  // Whether issue() and wait() run in the calling thread (CPU), so that each stream needs a thread
  // of its own. Otherwise they only enqueue, and one thread issues all streams in program order.
  virtual bool runsInCaller() const = 0;

  // Forgets all events and an earlier abort; call when no stream is running.
  virtual void beginStep() = 0;
  // Runs or enqueues any instruction but Collective, Record and Wait. The command is the caller's,
  // who changes it for the next run: a device that enqueues keeps a copy.
  virtual Status issue(int stream, const Command &command) = 0;
  virtual Status record(int stream, int event) = 0;
  // Waits for the `ordinal`-th record of `event` in this step, counted from 1. Aborted when abort()
  // was called.
  virtual Status wait(int stream, int event, int ordinal) = 0;
  // Returns when all that was enqueued on `stream` is done.
  virtual Status synchronize(int stream) = 0;
  // Wakes every wait with an error; any thread may call it.
  virtual void abort() = 0;
};

} // namespace dtc::rt

// The interface between a CUDA device and the code that communicates between ranks.
#pragma once

#include "runtime/cuda/CudaCode.h"

#include <functional>

namespace dtc::rt {

// The orders whose graph may have an operation.
enum class InGraph {
  Always,
  // Orders whose operations between ranks are all on one stream: branches of a graph need not run
  // concurrently.
  OneStream,
  Never,
};

// A collective or transfer that is prepared for a stream.
struct PreparedCommunication {
  StreamWork work;
  // Called before each run of `work`, with the tag of that run; null if not needed.
  std::function<void(uint64_t tag)> announce;
  InGraph inGraph = InGraph::Always;
};

// The groups of ranks. The host's thread makes all calls except stop().
class CudaGroups {
public:
  virtual ~CudaGroups() = default;
  // Implements Device::createGroup.
  virtual Status create(Control &control, const GroupSpec &spec, int &group) = 0;
  // Sets the address of the arena, once, so that communication may prepare for it.
  virtual Status setArena(cu::DevicePtr, uint64_t) { return {}; }
  // Prepares a collective or transfer.
  virtual Status prepare(const Command &command, int stream, PreparedCommunication &prepared) = 0;
  // Reports the number of completed steps.
  virtual void noteSteps(uint64_t) {}
  // Starts to end operations that wait for other ranks. Any thread may call it.
  virtual void stop() = 0;
  // Waits for a limited time until these operations have ended. No graph may have prepared work any
  // more. Returns false if some did not end; nothing that they might use may be freed then.
  virtual bool awaitStop() { return true; }
  // Ends the threads, which may still call stop(). Afterwards nothing may be prepared, and no
  // prepared work may run.
  virtual void close() = 0;
};

} // namespace dtc::rt

// What a CUDA device needs of whatever moves data between ranks.
#pragma once

#include "runtime/cuda/CudaCode.h"

#include <functional>

namespace dtc::rt {

// A collective or transfer made ready for a stream.
struct PreparedMeeting {
  StreamWork work;
  // Called each time before `work` runs, with the tag of that time; null where nothing has to be.
  std::function<void(uint64_t tag)> announce;
  // Whether meetings of several streams have to be enqueued as streams: branches of a graph need not go on beside each other.
  bool needsStreams = false;
};

// One thread, the host's, makes all calls but stop().
class CudaGroups {
public:
  virtual ~CudaGroups() = default;
  // As Device::createGroup.
  virtual Status create(Control &control, const GroupSpec &spec, int &group) = 0;
  // Tells where the arena is, once, so that what moves data may prepare for it.
  virtual Status setArena(cu::DevicePtr, uint64_t) { return {}; }
  virtual Status prepare(const Command &command, int stream, PreparedMeeting &meeting) = 0;
  // Tells how many steps are over.
  virtual void noteSteps(uint64_t) {}
  // Begins to end what waits for other ranks. Any thread may call it.
  virtual void stop() = 0;
  // Waits, for a while at most, until that is over. No graph may have prepared work any more. Whether it is; where not, some of
  // it runs for ever, and nothing that it might use may be freed.
  virtual bool awaitStop() { return true; }
  // Ends its threads, which may still call stop(). Afterwards nothing is prepared and nothing prepared runs.
  virtual void close() = 0;
};

} // namespace dtc::rt

// The state that threads of the host keep between launches.
#pragma once

#include "runtime/simt/Fiber.h"
#include "runtime/simt/Races.h"

#include <cstdint>
#include <vector>

namespace dtc::simt {

inline constexpr uint32_t sharedArenaBytes =
    256 * 1024; // everything behind the block's part is out of bounds

// The state that a thread of the host keeps from one launch to the next.
struct HostThread {
  HostThread() = default;
  ~HostThread();
  HostThread(const HostThread &) = delete;
  HostThread &operator=(const HostThread &) = delete;

  // Returns the state of the calling thread.
  static HostThread &current();

  // Reserves shared memory below 4 GiB, because device code may hold its addresses in 32 bits.
  // Returns false if there is none.
  bool prepareShared();

  StackPool stacks;
  uint8_t *shared = nullptr;
  std::vector<uint8_t> sharedWritten; // a flag per byte
  Races sharedRaces;
  uint64_t blockEpoch = 0; // counts blocks
};

} // namespace dtc::simt

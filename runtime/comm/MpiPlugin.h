// The door between dtrun and libdtc_mpi.so, which is opened only for jobs of more than one rank.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/comm/StartUp.h"

namespace dtc::rt {

// Raised when anything that crosses the door changes: both sides come from one build.
inline constexpr int kMpiPluginVersion = 7;

// Settings of the MPI communicator.
struct MpiOptions {
  double timeoutSeconds = 600;
  uint64_t pollMicros = 100; // longest sleep between two looks at a request
  uint64_t maxElements = 0;  // most that one MPI call moves; 0: INT_MAX
  uint64_t peerBytes =
      0; // least size of a buffer that ranks of one machine read from each other; rank 0's counts
  PhaseListener *phases = nullptr;       // outlives the world
  void (*reportEnd)(int rank) = nullptr; // called when this rank leaves MPI
};

using MpiPluginVersion = int();
using MpiCreateWorld = void(const MpiOptions &options, std::unique_ptr<Comm> &world,
                            Status &status);

inline constexpr const char *kMpiPluginVersionSymbol = "dtcMpiPluginVersion";
inline constexpr const char *kMpiCreateWorldSymbol = "dtcMpiCreateWorld";

} // namespace dtc::rt

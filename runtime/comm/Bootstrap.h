// Joins this process to its job.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/comm/Environment.h"
#include "runtime/comm/StartUp.h"

namespace dtc::rt {

struct WorldOptions {
  LaunchEnvironment launch;
  double timeoutSeconds = 600;     // longest that any call may wait for a peer
  size_t maxElements = 0;          // most that one MPI call moves; 0: INT_MAX; less is for tests
  PhaseListener *phases = nullptr; // hears of StartingMpi and JoiningWorld
};

// The world of this job: a loopback world of one where launch.size is 1 (MPI is not touched), else
// MPI through the plugin libdtc_mpi.so, found beside the program, in ../lib, or by DTC_MPI_LIBRARY.
// Destroying the world leaves the job (MPI_Finalize, which waits for the others), unless it was
// abandoned or a call on it was Aborted. Split groups must be destroyed first. Errors: Unavailable
// when the plugin cannot be loaded or the variables are torchrun's, which carry no MPI.
Status createWorld(const WorldOptions &options, std::unique_ptr<Comm> &world);

// Compute threads for this rank: DTC_THREADS, or the cores that it may run on divided by the ranks
// of its machine that may run on the same ones, at least 1. Collective over `world`.
Status threadsPerRank(Control &world, int &threads);

} // namespace dtc::rt

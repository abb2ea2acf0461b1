// Joins this process to its job.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/comm/Environment.h"
#include "runtime/comm/StartUp.h"

namespace dtc::rt {

// Settings of the communicator that joins all ranks.
struct WorldOptions {
  LaunchEnvironment launch;
  double timeoutSeconds = 600;        // longest that any call may wait for a peer
  double startSeconds = 120;          // longest that ranks may take to meet, and to connect
  size_t maxElements = 0;             // most that one MPI call moves; 0: INT_MAX; less is for tests
  PhaseListener *phases = nullptr;    // is notified of the phases up to JoiningWorld
  EnvironmentReader environment = {}; // names the rendezvous of Gloo's ranks; getenv if empty
};

// The world of this job: a loopback world of one where launch.size is 1 (no plugin is touched),
// else MPI through the plugin libdtc_mpi.so, found beside the program, in ../lib, or by
// DTC_MPI_LIBRARY; Gloo through libdtc_gloo.so (DTC_GLOO_LIBRARY) where RANK and WORLD_SIZE are
// what says who this is, where srun offers no PMI (neither PMIX_* nor PMI_* is set), or DTC_COMM
// says so. Destroying the world leaves the job (which waits for the others), unless it was
// abandoned or a call on it was Aborted. Split groups must be destroyed first. Errors: Unavailable
// when the plugin cannot be loaded, MPI is asked for where the variables carry none, or MPI is
// another one than the launcher's; Aborted, perhaps without a message, as from joinRendezvous()
// (Rendezvous.h).
Status createWorld(const WorldOptions &options, std::unique_ptr<Comm> &world);

// Compute threads for this rank: DTC_THREADS, or the cores that it may run on divided by the ranks
// of its machine that may run on the same ones, at least 1. Collective over `world`.
Status threadsPerRank(Control &world, int &threads);

} // namespace dtc::rt

// Finds rank 0's host in the launcher's variables, for ranks that have to find each other without
// MPI.
#pragma once

#include "runtime/comm/Environment.h"

#include <string_view>

namespace dtc::rt {

// The host of rank 0, and its source.
struct RendezvousAddress {
  std::string
      host; // names or addresses of rank 0's host, parted by commas; empty where nothing tells
  std::string variable; // variable that names the host
  // Identifier that only the ranks of this job or step share; empty if there is none.
  std::string job;
};

// Finds rank 0's host. Under srun: the first node of SLURM_STEP_NODELIST. Under Open MPI's mpirun:
// the host of mpirun, or this machine if all ranks are here. Errors: InvalidArgument if the
// variable is malformed, and if rank 0 is known to be elsewhere: --distribution=arbitrary, a job of
// several components, or a node other than this rank 0's.
Status findRendezvousAddress(const LaunchEnvironment &launch, const EnvironmentReader &read,
                             RendezvousAddress &rankZero);

// The first host of Slurm's host lists. InvalidArgument where `list` begins with none.
// Example: "r[1-2]n[03-04,7],gpu4" gives "r1n03".
Status firstHostOf(std::string_view list, std::string &host);

// The addresses that the URI of an Open MPI daemon names, parted by commas; empty where it is none.
// Example: "4711.0;tcp://10.0.0.7,192.168.0.7:39627;tcp6://[fd00::7]:57325" gives
// "10.0.0.7,192.168.0.7,fd00::7".
std::string addressesOf(std::string_view uri);

// Takes the first of several hosts off a list, which commas separate.
std::string takeHost(std::string_view &hosts);

} // namespace dtc::rt

// Finds the job and rank of this process in the variables that launchers set.
#pragma once

#include "runtime/base/Status.h"

#include <functional>
#include <string>

namespace dtc::rt {

// The program that started the ranks.
enum class Launcher { None, OpenMpi, Pmi, Slurm, Torchrun };

// This process's place in the job.
struct LaunchEnvironment {
  Launcher launcher = Launcher::None;
  int rank = 0, size = 1;
  int localRank = 0, localSize = 1; // rank and number of ranks on this machine
  int parent = 0;                   // the process that started this one, where it is known
  std::string source;               // the variables that decided, e.g. "OMPI_COMM_WORLD_RANK"
};

// Reads a variable; null when unset.
using EnvironmentReader = std::function<const char *(const char *name)>;

// Order: torchrun where its agent says that it is (TORCHELASTIC_RUN_ID: srun may have started the
// agents), Open MPI, PMIx/PMI, Slurm (inside a step only), RANK and WORLD_SIZE alone as in
// Kubernetes, none. InvalidArgument when a set of variables is incomplete or contradicts itself
// (rank 4 of 4): it lists what was seen. Example: OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=4
// gives OpenMpi, rank 1, size 4.
Status detectLaunch(LaunchEnvironment &environment);
// Reads variables by `read` instead of getenv; see above.
Status detectLaunch(const EnvironmentReader &read, LaunchEnvironment &environment);

} // namespace dtc::rt

// Scripts of Slurm, mpirun and torchrun. Internal to this folder: jobFiles() has checked the
// request.
#pragma once

#include "compiler/show/jobs/Job.h"

namespace dtc::jobs {

// Returns job.sbatch.
JobFiles slurmFiles(const JobRequest &request);
// Returns hosts and run.sh, which calls Open MPI's mpirun.
JobFiles mpiFiles(const JobRequest &request);
// Returns run.sh, which is to be started on every node.
JobFiles torchrunFiles(const JobRequest &request);

} // namespace dtc::jobs

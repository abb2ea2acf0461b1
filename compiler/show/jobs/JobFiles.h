// The files that start a job where it is to run: a batch script, manifests, a host file.
// docs/launching.md says what each of them has.
#pragma once

#include "compiler/show/jobs/Job.h"
#include "compiler/support/Error.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace dtc {

// The systems that start a job's ranks.
enum class JobStarter : uint8_t { Slurm, Kubernetes, Mpi, Torchrun };

// The words of `dtc launch --on`, in the order of the enumerators.
llvm::ArrayRef<llvm::StringRef> jobStarterNames();
// Returns the starter with that name; nullopt if there is none.
std::optional<JobStarter> jobStarterFrom(llvm::StringRef name);

// Returns the files of a job. Errors: a name that Kubernetes does not take, no image for it,
// restarts without flags that save checkpoints, hosts that are not as many as the nodes.
Result<JobFiles> jobFiles(JobStarter starter, const JobRequest &request);

} // namespace dtc

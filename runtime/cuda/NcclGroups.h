// Collectives and transfers of GPUs by NCCL.
//
// Each group has its own communicator, created without blocking, so that a rank that never arrives
// causes an error and not a hang. Around each operation the stream records its number in pinned
// memory, so that an operation that does not end in time can be named (NcclWatch).
#pragma once

#include "runtime/cuda/CudaGroups.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/NcclWatch.h"

#include <memory>

namespace dtc::rt {

// Creates the groups; NCCL is opened for the first group of several ranks. `libraries` must outlive
// the groups. `leastDriver`: the lowest version of the driver of any rank of the job, as
// cuDriverGetVersion has it, by which all of them decide alike how steps are enqueued.
std::unique_ptr<CudaGroups> makeNcclGroups(CudaLibraries &libraries, const cu::Driver &driver,
                                           int leastDriver, const NcclWatchOptions &options);

} // namespace dtc::rt

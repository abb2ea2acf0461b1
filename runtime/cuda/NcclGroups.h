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
// the groups.
std::unique_ptr<CudaGroups> makeNcclGroups(CudaLibraries &libraries, const cu::Driver &driver,
                                           const NcclWatchOptions &options);

} // namespace dtc::rt

// Collectives and transfers of GPUs by NCCL.
//
// Each group is a communicator of its own, made without blocking, so that a rank that never comes is an error here and no
// hang. Around each operation the stream notes which one it is in pinned memory: what does not end in time is named
// (NcclWatch).
#pragma once

#include "runtime/cuda/CudaGroups.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/NcclWatch.h"

#include <memory>

namespace dtc::rt {

// NCCL is opened for the first group of several ranks. `libraries` must outlive the groups.
std::unique_ptr<CudaGroups> makeNcclGroups(CudaLibraries &libraries, const cu::Driver &driver,
                                           const NcclWatchOptions &options);

} // namespace dtc::rt

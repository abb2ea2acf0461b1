// Collectives of GPUs through host memory: for ranks that share one GPU, which NCCL does not
// support, and for emulated GPUs.
//
// A stream copies its contribution to the host, raises a flag, waits for another flag, and copies
// the result in. Between the flags a host thread runs the collective over a Comm. All work of the
// stream can be captured.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaGroups.h"

#include <memory>

namespace dtc::rt {

// Creates the groups. `failed` receives errors of the host threads, with the tag of the failed
// operation. `world` is as in makeCudaDevice.
std::unique_ptr<CudaGroups>
makeStagedGroups(const cu::Driver &driver, Comm *world,
                 std::function<void(const Status &status, uint64_t tag)> failed);

} // namespace dtc::rt

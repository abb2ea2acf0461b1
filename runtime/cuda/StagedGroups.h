// Collectives of GPUs through the memory of their hosts: for ranks that share one GPU, which NCCL does not serve, and for
// emulated ones.
//
// A stream copies what it brings to the host, raises a flag there, waits for another, and copies in what it gets. Between
// the flags a thread of the host runs the collective over a Comm. All that the stream does may be captured.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaGroups.h"

#include <memory>

namespace dtc::rt {

// `failed` hears of errors of the host's threads, with the tag of what failed. `world` as in makeCudaDevice.
std::unique_ptr<CudaGroups>
makeStagedGroups(const cu::Driver &driver, Comm *world,
                 std::function<void(const Status &status, uint64_t tag)> failed);

} // namespace dtc::rt

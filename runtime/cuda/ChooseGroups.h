// How the ranks of a job exchange data: by NCCL where each has a GPU of its own, else through their hosts.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaGroups.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/NcclWatch.h"

namespace dtc::rt {

struct GroupsRequest {
  CudaLibraries &libraries;
  const cu::Driver &driver;
  const Gpu &gpu;
  Comm *world = nullptr;  // as CudaOptions
  NcclWatchOptions watch; // its `failed` is that of makeStagedGroups, too
};

// Collective over `control`. Where ranks share a GPU, `notice` becomes words for the user. Unavailable on all ranks where
// one has no NCCL and needs it.
Status chooseGroups(Control &control, const GroupsRequest &request,
                    std::unique_ptr<CudaGroups> &groups, std::string &notice);

} // namespace dtc::rt

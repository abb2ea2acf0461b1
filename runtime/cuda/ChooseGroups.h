// The choice of how ranks communicate: by NCCL if each has a separate GPU, else through their
// hosts.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaGroups.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/NcclWatch.h"

namespace dtc::rt {

// The arguments of chooseGroups.
struct GroupsRequest {
  CudaLibraries &libraries;
  const cu::Driver &driver;
  const Gpu &gpu;
  Comm *world = nullptr;  // as in CudaOptions
  NcclWatchOptions watch; // makeStagedGroups uses its `failed` too
};

// Chooses and creates the groups. Collective over `control`. If ranks share a GPU, `notice` gets a
// message for the user. Fails with Unavailable on all ranks if one needs NCCL and has none.
Status chooseGroups(Control &control, const GroupsRequest &request,
                    std::unique_ptr<CudaGroups> &groups, std::string &notice);

} // namespace dtc::rt

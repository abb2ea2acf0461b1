// Makes the device that a program was compiled for, on this machine.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Loader.h"

#include <memory>

namespace dtc::rt {

// The device of a rank, and the libraries that it uses.
struct RankDevice {
  std::unique_ptr<CudaLibraries> libraries; // for a GPU only
  std::unique_ptr<Device> device;
};

// Makes the device of this rank. No collective on it takes longer than `timeoutSeconds` (0:
// DTC_TIMEOUT). Errors: Unavailable or InvalidArgument that tells what this machine lacks. If
// collectives take a slow way, rank 0 prints which one when they are set up.
Status makeDevice(const Executable &executable, Comm &world, int threads, double timeoutSeconds,
                  RankDevice &made);

} // namespace dtc::rt

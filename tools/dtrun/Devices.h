// The device that a program was compiled for, on this machine.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Loader.h"

#include <memory>

namespace dtc::rt {

struct RankDevice {
  std::unique_ptr<CudaLibraries> libraries; // of a GPU
  std::unique_ptr<Device> device;
};

// Makes the device of this rank, on which no collective takes longer than `timeoutSeconds` (0: DTC_TIMEOUT). Unavailable or InvalidArgument says what this machine lacks. Rank 0 prints where
// collectives go where that is slow, once they are made.
Status makeDevice(const Executable &executable, Comm &world, int threads, double timeoutSeconds,
                  RankDevice &made);

} // namespace dtc::rt

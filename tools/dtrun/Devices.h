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

// Makes the device of this rank. Unavailable or InvalidArgument says what this machine lacks. On rank 0, prints where
// collectives go where that is slow.
Status makeDevice(const Executable &executable, Comm &world, int threads, RankDevice &made);

} // namespace dtc::rt

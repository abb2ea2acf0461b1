// The processors of this machine as one device: library kernels of kernels/cpu, generated kernels
// by dlopen.
#pragma once

#include "runtime/device/Device.h"

#include <memory>

namespace dtc::rt {

// Stream 0 computes with `threads` threads, the caller's included; other streams with their
// caller's alone.
std::unique_ptr<Device> makeCpuDevice(int threads);

} // namespace dtc::rt

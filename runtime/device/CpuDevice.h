// The processors of this machine as one device: library kernels of kernels/cpu, generated kernels
// by dlopen, collectives by the communicators of the host.
//
// Each stream that a program uses has a thread, started once, which runs what the host enqueues.
// The host's thread computes nothing: it sleeps while it waits for a step.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/device/Device.h"

#include <memory>

namespace dtc::rt {

// Makes the device of this machine's processors. Stream 0 computes with `threads` threads, its own
// included; other streams with their own alone. `world` carries the collectives: the job of the
// Control that groups are made of, which must outlive the device. A device without a world has
// groups of one rank only.
std::unique_ptr<Device> makeCpuDevice(int threads, Comm *world = nullptr);

} // namespace dtc::rt

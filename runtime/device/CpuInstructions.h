// Library instructions on the CPU: calls of kernels/cpu.
#pragma once

#include "runtime/device/Device.h"

namespace dtc::cpu {
class ThreadPool;
}

namespace dtc::rt {

// Runs the instruction with the threads of `pool`. Fails for one that is not of the library, and
// for one of an element type that no kernel has.
Status runOnCpu(const Command &command, cpu::ThreadPool &pool);

} // namespace dtc::rt

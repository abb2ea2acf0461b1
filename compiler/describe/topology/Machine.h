// Asks the operating system and the processor about this machine.
#pragma once

#include <cstdint>
#include <string>

namespace dtc {

// Conservative figures without measurements. They are the same on every call, so that plans can be
// reproduced.
struct Machine {
  std::string processor; // "AMD EPYC 7B13"
  int64_t cores = 1;     // cores that this process may use, without hyperthreads
  // installed memory or the control group's limit, in whole units of 64 MiB
  int64_t memoryBytes = 0;
  double clockHz = 0;         // base clock
  double flopsPerCycle = 0;   // f32, one core; a fused multiply-add counts as two
  double memoryBandwidth = 0; // bytes/s

  // Returns the flop/s of all cores in f32.
  double peakFlops() const { return static_cast<double>(cores) * clockHz * flopsPerCycle; }
};

// Asks hwloc, the processor and Linux. A value that cannot be found has a conservative default.
Machine discoverMachine();

} // namespace dtc

// What the operating system and the processor say about this machine.
#pragma once

#include <cstdint>
#include <string>

namespace dtc {

// Conservative figures without measuring: the same on every call, so that plans can be reproduced.
struct Machine {
  std::string processor;      // "AMD EPYC 7B13"
  int64_t cores = 1;          // that this process may use, hyperthreads not counted
  int64_t memoryBytes = 0;    // installed or the control group's limit, whole 64 MiB
  double clockHz = 0;         // base clock
  double flopsPerCycle = 0;   // f32, one core: fused multiply-adds count two
  double memoryBandwidth = 0; // bytes/s

  double peakFlops() const { return static_cast<double>(cores) * clockHz * flopsPerCycle; }
};

// Asks hwloc, the processor and Linux; what cannot be found has a conservative default.
Machine discoverMachine();

} // namespace dtc

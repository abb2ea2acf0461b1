// What NVIDIA's management library says about the GPUs of this machine. The library comes with the
// driver and is opened when it is asked; nothing of LLVM, so that it can be tried on any machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc {

struct NvmlLink {
  std::string remoteBusId; // "0000:c4:00.0"; "" where the other end is not visible
  bool toGpu = false;      // else a switch, or what is not visible: in a virtual machine a switch
};

struct NvmlGpu {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string busId; // "0000:18:00.0"
  uint32_t vendor = 0, device = 0;
  int64_t memoryBytes = 0;
  int64_t computeCapability = 0; // 90: 9.0
  int64_t cores = 0;             // CUDA cores; this and what follows is 0 where it is not known
  double coreClockHz = 0, memoryClockHz = 0;
  int64_t memoryBusBits = 0;
  int64_t pcieGeneration = 0, pcieLanes = 0;
  std::vector<NvmlLink> links; // that are up
};

struct NvmlReport {
  std::string problem; // why there are no GPUs: "libnvidia-ml.so.1: cannot open ..."
  std::vector<NvmlGpu> gpus;
};

// Example: queryNvml("libnvidia-ml.so.1").
NvmlReport queryNvml(const std::string &library);

} // namespace dtc

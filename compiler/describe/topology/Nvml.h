// Asks NVIDIA's management library about the GPUs of this machine. The library comes with the
// driver and is opened at the first use. Does not depend on LLVM, so that it can be tried on any
// machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc {

// The other end of one NVLink.
struct NvmlLink {
  std::string remoteBusId; // "0000:c4:00.0"; "" if the other end is not visible
  // false for a switch, or an end that is not visible: in a virtual machine a switch
  bool toGpu = false;
};

// The properties of a GPU, as NVML reports them.
struct NvmlGpu {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string busId; // "0000:18:00.0"
  uint32_t vendor = 0, device = 0;
  int64_t memoryBytes = 0;
  int64_t computeCapability = 0; // 90: 9.0
  int64_t cores = 0;             // CUDA cores; this and the following are 0 if unknown
  double coreClockHz = 0, memoryClockHz = 0;
  int64_t memoryBusBits = 0;
  int64_t pcieGeneration = 0, pcieLanes = 0;
  std::vector<NvmlLink> links; // links that are up
};

// All GPUs that this process may use, or the reason why there are none.
struct NvmlReport {
  std::string problem; // such as "libnvidia-ml.so.1: cannot open ..."
  std::vector<NvmlGpu> gpus;
};

// Opens the library and asks for all GPUs. Example: queryNvml("libnvidia-ml.so.1").
NvmlReport queryNvml(const std::string &library);

} // namespace dtc

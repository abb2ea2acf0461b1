// Finds the GPUs of this machine, with their place on PCIe and the network adapters beside them.
// Internal to this folder.
#pragma once

#include "compiler/describe/topology/Inventory.h"
#include "compiler/describe/topology/Nvml.h"

namespace dtc {

// Computes the figures of a GPU that is not in the catalogue from its clocks and compute
// capability. Returns nothing if NVML does not report enough.
// Example: 18432 cores of capability 8.9 at 2.49 GHz are 144 multiprocessors of 1024 flop per
// cycle: 91.8 TFLOP/s f32 and 367 TFLOP/s f16.
std::optional<DeviceKind> deviceOfNvml(const NvmlGpu &gpu);

// Asks NVML (`nvmlLibrary`) for GPUs, hwloc for bridges and adapters, and Linux for the adapters'
// rates. Returns nothing if NVML has no GPUs.
std::optional<Inventory> discoverGpus(const std::string &nvmlLibrary);

} // namespace dtc

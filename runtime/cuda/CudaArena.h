// The GPU memory that a program uses for its whole run. If the GPU supports it, other GPUs can map
// the memory, so that NCCL needs no copy of registered buffers.
#pragma once

#include "runtime/cuda/Driver.h"

namespace dtc::rt {

// Owns one allocation of device memory.
class CudaArena {
public:
  explicit CudaArena(const cu::Driver &driver) : driver(driver) {}
  ~CudaArena();
  CudaArena(const CudaArena &) = delete;
  CudaArena &operator=(const CudaArena &) = delete;

  // Allocates the memory; may be called once. Fails with ResourceExhausted if the GPU has too
  // little memory left.
  Status allocate(cu::Device device, uint64_t bytes);
  // Returns the address; 0 before allocate().
  cu::DevicePtr address() const { return memory; }

private:
  Status canMap(cu::Device device, bool &can) const;
  // Sets the handles that the device says it may have.
  Status findHandles(cu::Device device, int &handles) const;
  Status map(cu::Device device, uint64_t bytes);

  const cu::Driver &driver;
  cu::DevicePtr memory = 0, reserved = 0;
  uint64_t reservedBytes = 0;
  bool isMapped = false;
};

} // namespace dtc::rt

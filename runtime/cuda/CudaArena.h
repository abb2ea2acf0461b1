// The memory of a GPU that a program has for all of its run: where the GPU can, of a kind that other GPUs can map, so that NCCL
// needs no copy of what it registers.
#pragma once

#include "runtime/cuda/Driver.h"

namespace dtc::rt {

class CudaArena {
public:
  explicit CudaArena(const cu::Driver &driver) : driver(driver) {}
  ~CudaArena();
  CudaArena(const CudaArena &) = delete;
  CudaArena &operator=(const CudaArena &) = delete;

  // Once. ResourceExhausted where the GPU has not that much left.
  Status allocate(cu::Device device, uint64_t bytes);
  // 0 before.
  cu::DevicePtr address() const { return memory; }

private:
  Status canMap(cu::Device device, bool &can) const;
  Status map(cu::Device device, uint64_t bytes);

  const cu::Driver &driver;
  cu::DevicePtr memory = 0, reserved = 0;
  uint64_t reservedBytes = 0;
  bool isMapped = false;
};

} // namespace dtc::rt

// The GPU that a rank has: which one it is, what it can run, and its context.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/Device.h"

#include <array>

namespace dtc::rt {

class Gpu {
public:
  explicit Gpu(const cu::Driver &driver) : driver(driver) {}
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  // Takes number `localRank` of the machine's GPUs, counted around where there are fewer, and makes its context the
  // thread's. Unavailable where there is none.
  Status open(int localRank);
  // Whether code for `arch`, as "sm_90", runs here.
  Status checkArch(const std::string &arch) const;
  // Makes the context that of the calling thread.
  void enter() const { (void)driver.cuCtxSetCurrent(context); }
  // Where it is in its machine: domain, bus, device. Parts of one GPU (MIG), which NCCL takes for one, are in the same place.
  Status place(std::array<int, 3> &place) const;

  // "GPU 0 'NVIDIA H200'"
  const std::string &name() const { return description; }
  // "NVIDIA H200"
  const std::string &model() const { return modelName; }
  cu::Device id() const { return device; }
  int computeCapability() const { return capability; }

private:
  const cu::Driver &driver;
  cu::Device device = 0;
  cu::Context context = nullptr;
  int capability = 0; // 90 for sm_90
  std::string modelName, description = "the GPU";
};

} // namespace dtc::rt

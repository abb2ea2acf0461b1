// The GPU of a rank: its identity, its capabilities, and its context.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/Device.h"

#include <array>

namespace dtc::rt {

// Owns the primary context of one GPU.
class Gpu {
public:
  explicit Gpu(const cu::Driver &driver) : driver(driver) {}
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  // Opens GPU number `localRank` of the machine, modulo their number, and makes its context
  // current. Fails with Unavailable if there is none.
  Status open(int localRank);
  // Checks that code for `arch`, such as "sm_90", runs here.
  Status checkArch(const std::string &arch) const;
  // Makes the context current for the calling thread.
  void enter() const { (void)driver.cuCtxSetCurrent(context); }
  // Returns the position in the machine: domain, bus, device. Parts of one GPU (MIG), which NCCL
  // treats as one, have the same position.
  Status pciAddress(std::array<int, 3> &pciAddress) const;

  // Returns a text such as "GPU 0 'NVIDIA H200'".
  const std::string &name() const { return description; }
  // Returns a text such as "NVIDIA H200".
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

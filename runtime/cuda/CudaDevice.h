// A GPU of NVIDIA's as a device, or an emulated one: CUDA's driver, cuBLASLt, and collectives.
//
// Orders are recorded once as CUDA graphs and replayed: the host says nothing of a step but its inputs, one graph and its
// outputs. Where the executor wants times of instructions (StreamSpec::times), steps are enqueued one by one between
// events instead.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaGemm.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/device/Device.h"

#include <functional>
#include <memory>
#include <string>

namespace dtc::rt {

struct CudaOptions {
  int localRank = 0;     // among the ranks of this machine, which take its GPUs in turn
  Comm *world = nullptr; // carries collectives that go through the hosts; must outlive the device
  int threads = 1;       // of the host, for what a program does there
  bool graphs = true;    // whether orders are recorded
  TuningOptions tuning = {};                // of products and attention
  uint64_t stageBytes = uint64_t(64) << 20; // of either piece through which parameters are copied
  double timeoutSeconds = 600;              // longest that a collective by NCCL may take
  double abortSeconds = 10; // longest that the end of NCCL's communicators may take after an error
  // What ranges of a profiler are called (Nvtx.h), with the operation of the model in it.
  std::function<std::string(const format::Instruction &)> nameOf = {};
  std::function<void(const std::string &)> notice = {}; // hears, on rank 0, what a user should know
};

// Takes the GPU of this rank. `libraries` must outlive the device. Unavailable says what is missing: driver, GPU.
Status makeCudaDevice(CudaLibraries &libraries, const CudaOptions &options,
                      std::unique_ptr<Device> &device);

} // namespace dtc::rt

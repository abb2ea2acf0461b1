// An NVIDIA GPU as a device, or an emulated one: CUDA's driver, cuBLASLt, and collectives.
//
// Orders are recorded once as CUDA graphs and replayed: for each step the host enqueues only its
// inputs, one graph and its outputs. If the executor asks for times of instructions
// (StreamSpec::times), steps are enqueued one by one between events instead.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/cuda/CudaGemm.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/device/Device.h"

#include <functional>
#include <memory>
#include <string>

namespace dtc::rt {

// The settings of a CUDA device.
struct CudaOptions {
  int localRank = 0;     // number among the ranks of this machine, which take its GPUs in turn
  Comm *world = nullptr; // carries collectives that go through the hosts; must outlive the device
  int threads = 1;       // host threads, for instructions that run there
  bool graphs = true;    // records orders as graphs
  TuningOptions tuning = {}; // tuning of matrix products and attention
  // size of each of the two buffers through which parameters are copied
  uint64_t stageBytes = uint64_t(64) << 20;
  double timeoutSeconds = 600; // longest duration of a collective by NCCL
  double abortSeconds = 30;    // longest time to end NCCL's communicators after an error
  // Returns the name of an instruction's range for a profiler (Nvtx.h), which includes the
  // operation of the model.
  std::function<std::string(const format::Instruction &)> nameOf = {};
  // receives messages for the user, on rank 0
  std::function<void(const std::string &)> notice = {};
};

// Opens the GPU of this rank. `libraries` must outlive the device. Fails with Unavailable, naming
// what is missing: the driver or the GPU.
Status makeCudaDevice(CudaLibraries &libraries, const CudaOptions &options,
                      std::unique_ptr<Device> &device);

} // namespace dtc::rt

// CUDA without a GPU: a driver, cuBLASLt, cuDNN and NCCL that keep CUDA's rules and run kernels on the emulator (runtime/simt).
//
// Streams run in any order that events allow, chosen by a seed; nothing runs before somebody looks or waits, so that copies
// land late and hosts that read too early read old bytes. Graph capture rejects what CUDA rejects, with its error codes.
// A fault of a kernel or a copy ends the device, as on a GPU, and its error says what was found.
#pragma once

#include "runtime/cuda/CudaLibraries.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace dtc::rt {

struct FakeCudaOptions {
  uint64_t seed = 1;
  int gpus = 1;
  uint64_t memoryBytes = uint64_t(1) << 36; // of each
  bool oneGpu = false;        // they all are the same one, as several processes see it
  bool nccl = true;           // whether there is NCCL
  bool endlessAborts = false; // whether ncclCommAbort never returns
  size_t blasLtVersion = 130000;
  size_t cudnnVersion = 0; // 0: there is none; else kernels take 10 us each, which it beats
  bool slowCudnn = false;  // and then it does not
  int driverVersion = 13000;
  bool maps = true; // whether memory can be mapped
  size_t graphQueues =
      0; // on which branches of a graph stand one behind another, in any order; 0: each for itself
  size_t streamDepth =
      0; // calls of a stream that may not have run before the next one waits; 0: any number
  uint32_t sharedBytes = 227 * 1024; // of dynamic and static shared memory that a block may have
  bool report = false;               // says at its end how many kernels it ran
  uint64_t failingCall = 0;          // the call that ends in an error, from 1; 0: none
};

class FakeCuda : public CudaLibraries {
public:
  const char *device() const override { return "simt"; }
  std::string machine() const override { return "emulated"; }
  // Calls so far, of driver and libraries, that failingCall counts.
  virtual uint64_t numCalls() const = 0;
  // How many products cublasLtMatmul was asked for, by the number of their algorithm: those that run are 1, slow, and 2 and 3,
  // fast on GPUs of even and of odd numbers.
  virtual std::map<uint64_t, uint64_t> products(int gpu) const = 0;
  // How many times each engine of cuDNN was asked to run: 0 is right, 3 wrong, 4 not the same each time.
  virtual std::map<int64_t, uint64_t> cudnnRuns(int gpu) const = 0;
  // Launches that ran so far.
  virtual uint64_t numLaunches() const = 0;
  // Objects that were made and not freed, as "2 streams, 1 event"; empty where there are none.
  virtual std::string leaks() const = 0;
};

// The functions behind the tables know no object: one of these at a time may be alive in a process.
std::unique_ptr<FakeCuda> makeFakeCuda(const FakeCudaOptions &options);

} // namespace dtc::rt

// CUDA without a GPU: a driver, cuBLASLt, cuDNN and NCCL that keep CUDA's rules and run kernels on
// the emulator (runtime/simt).
//
// Streams run in any order that events allow, chosen by a seed; nothing runs before somebody polls
// or waits, so that copies land late and hosts that read too early read old bytes. Graph capture
// rejects what CUDA rejects, with its error codes. A fault of a kernel or a copy stops the device,
// as on a GPU, and its error says what was found.
#pragma once

#include "runtime/cuda/CudaLibraries.h"
#include "runtime/fakecuda/FakeCudaOptions.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace dtc::rt {

// The libraries of the emulated machine, with counters for tests.
class FakeCuda : public CudaLibraries {
public:
  const char *device() const override { return "simt"; }
  std::string machine() const override { return "emulated"; }
  // Returns the number of calls so far, of driver and libraries, that failingCall counts.
  virtual uint64_t numCalls() const = 0;
  // Returns the calls of cublasLtMatmul by the number of their algorithm. Of those that run 1 is
  // slow, and 2 and 3 are fast on GPUs of even and of odd numbers.
  virtual std::map<uint64_t, uint64_t> products(int gpu) const = 0;
  // Returns the runs of cuDNN by engine: 0 is right, 3 is wrong, 4 differs from run to run.
  virtual std::map<int64_t, uint64_t> cudnnRuns(int gpu) const = 0;
  // Returns the number of launches that ran so far.
  virtual uint64_t numLaunches() const = 0;
  // Returns the objects that were made and not freed, as "2 streams, 1 event"; empty if there are
  // none.
  virtual std::string leaks() const = 0;
};

// Makes the emulated machine. The functions behind the tables have no object argument, so that one
// machine at a time may be alive in a process.
std::unique_ptr<FakeCuda> makeFakeCuda(const FakeCudaOptions &options);

} // namespace dtc::rt

// The properties of an emulated machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace dtc::rt {

// The properties of the emulated machine.
struct FakeCudaOptions {
  uint64_t seed = 1;
  int gpus = 1;
  uint64_t memoryBytes = uint64_t(1) << 36; // bytes of each GPU
  bool oneGpu = false;        // all GPUs are the same one, as several processes see it
  bool nccl = true;           // NCCL is installed
  bool endlessAborts = false; // ncclCommAbort never returns
  // NCCL's version, that of its CUDA toolkit, and the environment that it and the driver read.
  int ncclVersion = 22809, ncclToolkit = 12090;
  std::map<std::string, std::string> environment = {};
  // NVLS is used: a captured collective is in progress until all of its ranks have captured it.
  bool nvls = false;
  bool apart = false;             // each thread is a process of its own
  uint32_t multiprocessors = 132; // of each GPU
  size_t blasLtVersion = 130000;
  size_t cudnnVersion = 0; // 0: not installed; else kernels take 10 us each, and cuDNN is faster
  bool slowCudnn = false;  // cuDNN is slower than that
  int driverVersion = 13000;
  bool maps = true; // memory can be mapped
  // Memory may be mapped over NVLink by other machines: never, or where it asks for that; or the
  // device says so, and refuses it.
  enum { NoFabric, Fabric, RefusedFabric } fabric = NoFabric;
  // Queues on which branches of a graph wait for each other, in any order; 0: one for each branch.
  size_t graphQueues = 0;
  // Calls of a stream that may be outstanding before the next one waits; 0: any number.
  size_t streamDepth = 0;
  uint32_t sharedBytes = 227 * 1024; // dynamic and static shared memory that a block may have
  bool report = false;               // prints at its end the number of kernels that it ran
  uint64_t failingCall = 0;          // the call that ends in an error, from 1; 0: none
};

} // namespace dtc::rt

// The code of a program on a GPU: its modules, and launches of generated and hand-written kernels.
#pragma once

#include "runtime/cuda/MergeLaunches.h"
#include "runtime/device/Device.h"

#include <functional>
#include <map>

namespace dtc::rt {

// Work that is enqueued on a stream; holds all its operands.
using StreamWork = std::function<Status(cu::Stream)>;

// The blocks of threads of a launch, as cuLaunchKernel takes them.
struct LaunchShape {
  uint32_t x = 1, y = 1, z = 1, threads = 1, sharedBytes = 0;
};

// Loads the modules of a program and prepares launches of their kernels.
class CudaCode {
public:
  explicit CudaCode(const cu::Driver &driver) : driver(driver) {}
  ~CudaCode();

  // Implements Device::load.
  Status load(const CodeObject &object);
  // Implements Device::findSymbol.
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol);

  // Prepares the launch of `command`, a Launch.
  Status prepare(const Command &command, StreamWork &work) const;
  // Returns the bytes that a launch reads and writes.
  std::shared_ptr<const LaunchPiece> describe(const Command &command) const;
  // Prepares a launch of the kernel of that name, of any module, with one parameter.
  Status prepare(const std::string &kernel, const LaunchShape &shape, const void *parameter,
                 size_t bytes, StreamWork &work);

private:
  struct Symbol {
    cu::Function function = nullptr;
    cu::Function merged = nullptr; // the kernel that does several launches of it; null for none
    KernelSpec kernel;
  };

  // Loads a function now. At its first launch the driver might otherwise wait for all streams, and
  // these for other ranks.
  Status loadNow(cu::Function function) const;
  Status getFunction(int object, const std::string &name, cu::Function &function) const;
  Status loadPtx(const CodeObject &object, cu::Module &module) const;
  Status findLibraryKernel(const std::string &name, uint32_t sharedBytes, cu::Function &function);

  const cu::Driver &driver;
  std::vector<cu::Module> modules;
  std::vector<Symbol> symbols;
  // Merged kernels by object and name: one function for all kernels that refer to it.
  std::map<std::pair<int, std::string>, cu::Function> mergedKernels;
  // Hand-written kernels in use, and the most shared memory requested for each.
  struct LibraryKernel {
    cu::Function function = nullptr;
    uint32_t sharedBytes = 0;
  };
  std::map<std::string, LibraryKernel> libraryKernels;
};

} // namespace dtc::rt

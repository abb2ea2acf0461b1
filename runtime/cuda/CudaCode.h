// Code of a program on a GPU: its modules, and launches of generated and hand-written kernels.
#pragma once

#include "runtime/cuda/MergeLaunches.h"
#include "runtime/device/Device.h"

#include <functional>
#include <map>

namespace dtc::rt {

// Something to be said to a stream, with all that it needs.
using StreamWork = std::function<Status(cu::Stream)>;

// Blocks of threads, as cuLaunchKernel takes them.
struct LaunchShape {
  uint32_t x = 1, y = 1, z = 1, threads = 1, sharedBytes = 0;
};

class CudaCode {
public:
  explicit CudaCode(const cu::Driver &driver) : driver(driver) {}
  ~CudaCode();

  // As the functions of Device with these names.
  Status load(const CodeObject &object);
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol);

  // The launch of `command`, a Launch.
  Status prepare(const Command &command, StreamWork &work) const;
  // What it reads and writes.
  std::shared_ptr<const LaunchPiece> describe(const Command &command) const;
  // A launch of the kernel of that name, of any module, with one parameter.
  Status prepare(const std::string &kernel, const LaunchShape &shape, const void *parameter,
                 size_t bytes, StreamWork &work);

private:
  struct Symbol {
    cu::Function function = nullptr;
    cu::Function merged = nullptr; // that does several launches of it; null for none
    KernelSpec kernel;
  };

  // Loads a function now, as the driver might else wait for all streams when it is launched first, and those for other ranks.
  Status loadNow(cu::Function function) const;
  Status getFunction(int object, const std::string &name, cu::Function &function) const;
  Status loadPtx(const CodeObject &object, cu::Module &module) const;
  Status findLibraryKernel(const std::string &name, uint32_t sharedBytes, cu::Function &function);

  const cu::Driver &driver;
  std::vector<cu::Module> modules;
  std::vector<Symbol> symbols;
  // By object and name: one function for all kernels that name it.
  std::map<std::pair<int, std::string>, cu::Function> mergedKernels;
  // Hand-written kernels that were asked for, and the most shared memory that each was.
  struct LibraryKernel {
    cu::Function function = nullptr;
    uint32_t sharedBytes = 0;
  };
  std::map<std::string, LibraryKernel> libraryKernels;
};

} // namespace dtc::rt

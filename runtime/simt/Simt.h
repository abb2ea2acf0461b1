// Runs CUDA kernels on the CPU, one fiber a thread, and checks every step of them. The code comes from passes/simt:
// the LLVM IR that also becomes PTX, as a shared object for x86-64.
//
// Example:
//   std::unique_ptr<Module> module;
//   DTC_RETURN_IF_ERROR(Module::load(object, module));
//   Memory memory;                       // runtime/simt/Memory.h
//   void *x; uint64_t n = 1000;
//   DTC_RETURN_IF_ERROR(memory.allocate(4 * n, x));
//   void *parameters[] = {&x, &n};       // as cuLaunchKernel's kernelParams
//   Status status = launch(*module->find("fill"), {8}, {128}, /*dynamicShared=*/0, parameters, memory);
#pragma once

#include "runtime/base/Status.h"
#include "runtime/code/CodeSegment.h"
#include "runtime/simt/Memory.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dtc::simt {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

class Module;

struct Kernel {
  std::string name;
  void (*entry)(void **parameters) = nullptr;
  uint32_t sharedBytes = 0;     // static shared memory of a block
  uint32_t requiredThreads = 0; // of a block (.reqntid), 0 for any number
  uint32_t maxThreads = 0;      // of a block (.maxntid or .reqntid), 0 for any number
  std::vector<uint32_t> parameterBytes;
  const Module *module = nullptr; // null for an entry that is a function of this program
};

// The kernels of one shared object. Unloaded by the destructor.
class Module {
public:
  // Errors: InvalidArgument when `object` is no shared object of compileForSimt of this version, or calls what this
  // emulator does not have.
  static rt::Status load(std::span<const uint8_t> object, std::unique_ptr<Module> &module);

  // Null when there is no kernel of that name.
  const Kernel *find(const std::string &name) const;
  const std::vector<Kernel> &all() const { return kernels; }

  // A variable in global or constant memory, as cuModuleGetGlobal gives it. Errors: NotFound.
  rt::Status findGlobal(const std::string &name, void *&address, uint64_t &bytes) const;

private:
  friend class Engine;

  struct Global {
    std::string name;
    std::unique_ptr<Range> range;
  };

  // The variable that holds the address, or null.
  Range *findRange(const void *address) const;

  rt::CodeSegment code;
  std::vector<Kernel> kernels;
  std::vector<Global> globals;
};

// How well accesses of warps coalesce. A request is one access of up to 16 bytes a lane, of all lanes of a warp that
// make it for the same time.
struct AccessCount {
  uint64_t globalRequests = 0;
  uint64_t globalSectors = 0;       // of 32 bytes, that requests touch
  uint64_t globalSectorsNeeded = 0; // that the bytes they use would fill
  uint64_t sharedRequests = 0;
  uint64_t sharedWavefronts = 0;       // times that shared memory serves
  uint64_t sharedWavefrontsNeeded = 0; // without a bank conflict

  double sectorsPerRequest() const;
  // 1 when accesses coalesce, 8 for 4 bytes of a sector each.
  double sectorRatio() const;
  // 1 without bank conflicts.
  double bankConflicts() const;
  void add(const AccessCount &other);
};

// What launches did; a launch adds to it.
struct Counters {
  struct Site {
    std::string place; // "Norm.cu:12" or the function
    AccessCount count;
  };
  uint64_t launches = 0;
  uint64_t threads = 0;
  uint64_t steps = 0; // accesses, operations of warps and blocks, turns of other loops
  AccessCount total;
  std::vector<Site> sites; // sorted by place
};

struct Options {
  uint64_t seed = 0;  // of the order of threads and blocks; 0 runs them in order
  bool checks = true; // of accesses; barriers and operations of warps are always checked
  uint64_t maxSteps =
      uint64_t{1} << 36; // of a launch, so that a kernel that would never end does end
};

// Runs `kernel` to its end on `grid` blocks of `block` threads. `parameters` has the address of each parameter.
//
// InvalidArgument says what is wrong with the launch itself (limits of the hardware, .reqntid). Internal is a fault of
// the kernel, the first one found, with kernel, block, thread, source line where known, and address: an access outside
// of any range or of its space, misaligned, of bytes that no one wrote, or that races with another thread; a barrier
// that not all threads reach; operations of a warp that its lanes do not meet at; a kernel that does not end. The
// launch ends there.
//
// Launches on different memories may run at the same time in different threads.
rt::Status launch(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared,
                  void **parameters, Memory &memory, const Options &options = {},
                  Counters *counters = nullptr);

} // namespace dtc::simt

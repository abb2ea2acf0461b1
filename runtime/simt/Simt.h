// Runs CUDA kernels on the CPU, one fiber per thread, and checks each of their steps. The code
// comes from passes/simt: the LLVM IR that also becomes PTX, compiled to a shared object for
// x86-64.
//
// Example:
//   std::unique_ptr<Module> module;
//   DTC_RETURN_IF_ERROR(Module::load(object, module));
//   Memory memory;                       // runtime/simt/Memory.h
//   void *x; uint64_t n = 1000;
//   DTC_RETURN_IF_ERROR(memory.allocate(4 * n, x));
//   void *parameters[] = {&x, &n};       // as cuLaunchKernel's kernelParams
//   Status status = launch(*module->find("fill"), {8}, {128}, 0, parameters, memory);
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

// A size or an index in blocks or threads, by dimension.
struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

class Module;

// A kernel that can be launched, with what its launch must satisfy.
struct Kernel {
  std::string name;
  void (*entry)(void **parameters) = nullptr;
  uint32_t sharedBytes = 0;     // static shared memory of a block
  uint32_t requiredThreads = 0; // threads per block (.reqntid), 0 if any number is allowed
  // most threads per block (.maxntid or .reqntid), 0 if any number is allowed
  uint32_t maxThreads = 0;
  std::vector<uint32_t> parameterBytes;
  const Module *module = nullptr; // null if the entry is a function of this program
};

// The kernels of one shared object. The destructor unloads it.
class Module {
public:
  // Loads a shared object of compileForSimt. Errors: InvalidArgument if `object` is not one, has
  // another version, or calls a function that this emulator does not have.
  static rt::Status load(std::span<const uint8_t> object, std::unique_ptr<Module> &module);

  // Returns the kernel of that name, or null.
  const Kernel *find(const std::string &name) const;
  const std::vector<Kernel> &all() const { return kernels; }

  // Finds a variable in global or constant memory, as cuModuleGetGlobal does. `bytes` is its size.
  // Errors: NotFound.
  rt::Status findGlobal(const std::string &name, void *&address, uint64_t &bytes) const;

private:
  friend class Engine;

  struct Global {
    std::string name;
    std::unique_ptr<Range> range;
  };

  // Returns the variable that holds the address, or null.
  Range *findRange(const void *address) const;

  rt::CodeSegment code;
  std::vector<Kernel> kernels;
  std::vector<Global> globals;
};

// Counts how well the accesses of warps coalesce. A request is one access of up to 16 bytes per
// lane, made by all lanes of a warp that execute the instruction for the same time.
struct AccessCount {
  uint64_t globalRequests = 0;
  uint64_t globalSectors = 0;       // sectors of 32 bytes that requests access
  uint64_t globalSectorsNeeded = 0; // sectors that the accessed bytes would fill
  uint64_t sharedRequests = 0;
  uint64_t sharedWavefronts = 0;       // rounds in which shared memory serves
  uint64_t sharedWavefrontsNeeded = 0; // rounds without bank conflicts

  // Returns the sectors of global memory per request, 0 without requests.
  double sectorsPerRequest() const;
  // Returns sectors accessed over sectors needed: 1 if accesses coalesce, 8 if each uses 4 bytes of
  // a sector.
  double sectorRatio() const;
  // Returns wavefronts over wavefronts needed: 1 without bank conflicts.
  double bankConflicts() const;
  // Adds the counts of `other`.
  void add(const AccessCount &other);
};

// Totals over launches. Each launch adds to them.
struct Counters {
  // The counts of one place in the source.
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

// Options of a launch.
struct Options {
  uint64_t seed = 0;  // seed for the order of threads and blocks; 0 runs them in order
  bool checks = true; // checks memory accesses; barriers and operations of warps are always checked
  uint64_t maxSteps =
      uint64_t{1} << 36; // limit per launch, which ends a kernel that would never end
};

// Runs `kernel` to its end on `grid` blocks of `block` threads. `parameters` holds the address of
// each parameter, and `dynamicShared` is a size in bytes.
// InvalidArgument tells what is wrong with the launch itself (limits of the hardware, .reqntid).
// Internal is the first fault of the kernel, with kernel, block, thread, source line if it is
// known, and address. Faults are: an access outside of any range or of its space, misaligned, of
// bytes that were never written, or in a race with another thread; a barrier that some threads do
// not reach; an operation of a warp that lanes do not meet at; a kernel that does not end. The
// launch ends at the fault.
// Launches on different memories may run at the same time in different threads.
rt::Status launch(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared,
                  void **parameters, Memory &memory, const Options &options = {},
                  Counters *counters = nullptr);

} // namespace dtc::simt

// The interface between retargeted device code (passes/simt) and the emulator (runtime/simt): plain
// structures in the shared object. The emulator finds them by one symbol.
// A value of up to 32 bits is passed as a uint32_t, whatever its type (f32, f16, two bf16, i1), a
// value of 64 bits as a uint64_t, and a pointer as a pointer. Several results are written as words
// through a pointer, which is the first argument.
#pragma once

#include <cstdint>

namespace dtc::simt::abi {

inline constexpr const char *moduleSymbol = "dtc_simt_module";
inline constexpr uint32_t version = 1;

// The ways in which an instruction uses memory. `Change` reads and writes in one step, as atomic
// additions do. Change and the Atomic... values stand for atomic or volatile accesses, which do
// not race with one another.
enum class Access : uint32_t { Read, Write, Change, AtomicRead, AtomicWrite, None };
// Returns true if the access reads memory.
constexpr bool reads(Access access) {
  return access == Access::Read || access == Access::Change || access == Access::AtomicRead;
}
// Returns true if the access writes memory.
constexpr bool writes(Access access) {
  return access == Access::Write || access == Access::Change || access == Access::AtomicWrite;
}
// Returns true if the access is atomic or volatile, so that it does not race with another such
// access.
constexpr bool isAtomic(Access access) {
  return access == Access::Change || access == Access::AtomicRead || access == Access::AtomicWrite;
}
// A memory space of the GPU. The numbers are the address spaces of LLVM's NVPTX target.
enum class Space : uint32_t { Generic = 0, Global = 1, Shared = 3, Constant = 4 };

// One instruction of device code: a memory access, a barrier, an operation of a warp.
struct Site {
  const char *function;
  const char *file; // empty where debug information has none
  uint32_t line;
  uint32_t bytes; // size of an access if it is known, else 0
  uint32_t align; // alignment of an access, in bytes
  Access access;
  Space space;
  uint32_t index; // position among the sites of the module
};

// A function of the emulator that the code calls through `slot`.
struct Import {
  const char *name;
  void **slot;
};

// A kernel of the module: its function and what a launch must satisfy.
struct KernelInfo {
  const char *name;
  void (*entry)(void **parameters); // takes the address of each parameter, as cuLaunchKernel does
  const uint32_t *parameterBytes;
  uint32_t numParameters;
  uint32_t sharedBytes;     // static shared memory
  uint32_t requiredThreads; // threads per block (.reqntid), 0 if any number is allowed
  uint32_t maxThreads;      // most threads per block (.maxntid), 0 if any number is allowed
};

// A variable of the module in global or constant memory.
struct GlobalInfo {
  const char *name;
  void *address;
  uint64_t bytes;
};

// The content of one shared object. The symbol `moduleSymbol` names it.
struct ModuleInfo {
  uint32_t version;
  uint32_t numImports;
  uint32_t numKernels;
  uint32_t numGlobals;
  const Import *imports;
  const KernelInfo *kernels;
  const GlobalInfo *globals;
  uint64_t numSites;
};

} // namespace dtc::simt::abi

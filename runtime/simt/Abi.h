// What retargeted device code (passes/simt) and the emulator (runtime/simt) agree on: plain structures in the shared
// object, found by one symbol.
//
// A value of up to 32 bits crosses as a uint32_t, whatever its type (f32, f16, two bf16, i1), one of 64 bits as a
// uint64_t, a pointer as a pointer. Several results come back as words through a pointer, the first argument.
#pragma once

#include <cstdint>

namespace dtc::simt::abi {

inline constexpr const char *moduleSymbol = "dtc_simt_module";
inline constexpr uint32_t version = 1;

// `Change` reads and writes at once, as atomic additions do. It and those of Meeting... are atomic or volatile: they may
// meet each other.
enum class Access : uint32_t { Read, Write, Change, MeetingRead, MeetingWrite, None };
constexpr bool reads(Access access) {
  return access == Access::Read || access == Access::Change || access == Access::MeetingRead;
}
constexpr bool writes(Access access) {
  return access == Access::Write || access == Access::Change || access == Access::MeetingWrite;
}
constexpr bool isAtomic(Access access) {
  return access == Access::Change || access == Access::MeetingRead ||
         access == Access::MeetingWrite;
}
// As LLVM numbers NVPTX's.
enum class Space : uint32_t { Generic = 0, Global = 1, Shared = 3, Constant = 4 };

// One instruction of device code: a memory access, a barrier, an operation of a warp.
struct Site {
  const char *function;
  const char *file; // empty where debug information has none
  uint32_t line;
  uint32_t bytes; // of an access whose size is known, else 0
  uint32_t align; // of an access, in bytes
  Access access;
  Space space;
  uint32_t index; // among the sites of the module
};

// A function of the emulator that the code calls through `slot`.
struct Import {
  const char *name;
  void **slot;
};

struct KernelInfo {
  const char *name;
  void (*entry)(void **parameters); // as cuLaunchKernel's: the address of each parameter
  const uint32_t *parameterBytes;
  uint32_t numParameters;
  uint32_t sharedBytes;     // static shared memory
  uint32_t requiredThreads; // of a block (.reqntid), 0 for any number
  uint32_t maxThreads;      // of a block (.maxntid), 0 for any number
};

// A variable of the module in global or constant memory.
struct GlobalInfo {
  const char *name;
  void *address;
  uint64_t bytes;
};

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

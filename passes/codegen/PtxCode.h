// Compiles LLVM IR of device code to PTX, and to a cubin if an assembler is installed.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace dtc {

// The architecture that code is generated for: 80, 90 or 100.
struct GpuTarget {
  unsigned sm = 90;
};

// Reads a target such as "sm_90"; nullopt for others than sm_80, sm_90 and sm_100.
std::optional<GpuTarget> readGpuTarget(llvm::StringRef name);

// Optimises a clone of `module` and returns its PTX, whose entries are the kernels; all other
// functions become internal. Any driver that knows the architecture accepts it. Errors: a called
// function that is not defined, by name.
llvm::Expected<std::string> compilePtx(const llvm::Module &module, GpuTarget target);

// Assembles PTX with the `ptxas` of PATH, CUDA_HOME or /usr/local/cuda; nullopt if there is none.
// `report` gets the output of `ptxas -v` about each kernel. Errors: messages of ptxas.
llvm::Expected<std::optional<std::vector<char>>>
assembleCubin(llvm::StringRef ptx, GpuTarget target, std::string *report = nullptr);

// Assembles PTX without avoidable spills. If ptxas spills registers of a kernel in order to fit
// more blocks on a multiprocessor, changes `ptx` to ask for fewer blocks, which drivers that
// translate the PTX respect as well. Result and errors are those of assembleCubin.
llvm::Expected<std::optional<std::vector<char>>>
assembleWithoutSpills(std::string &ptx, GpuTarget target, std::string *report = nullptr);

// The resources of a multiprocessor that a kernel uses.
struct KernelResources {
  std::string symbol;
  unsigned registers = 0;   // per thread
  unsigned sharedBytes = 0; // per block
  // bytes that a thread stores to and loads from memory for lack of registers
  unsigned spillBytes = 0;
  unsigned localBytes = 0; // bytes of memory that each thread has, for spills and for arrays
};
// Parses the output of `ptxas -v`.
std::vector<KernelResources> readResources(llvm::StringRef report);

} // namespace dtc

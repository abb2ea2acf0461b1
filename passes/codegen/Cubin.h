// Assembles PTX.
#pragma once

#include "passes/codegen/PtxCode.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc {

// Assembles PTX with the `ptxas` of PATH, CUDA_HOME or /usr/local/cuda; nullopt if there is none.
// `report` gets the output of `ptxas -v` about each kernel. Errors: messages of ptxas.
llvm::Expected<std::optional<std::vector<char>>>
assembleCubin(llvm::StringRef ptx, GpuTarget target, std::string *report = nullptr);

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

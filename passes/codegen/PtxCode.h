// From LLVM IR of device code to PTX, and to a cubin where there is an assembler.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace dtc {

// The architecture to generate code for: 80, 90 or 100.
struct GpuTarget {
  unsigned sm = 90;
};

// "sm_90" as a target; none for others than 80, 90 and 100.
std::optional<GpuTarget> readGpuTarget(llvm::StringRef name);

// Optimises a clone of `module` and returns its PTX, whose entries are the functions that are kernels; all else is theirs. Any
// driver that knows the architecture takes it. Errors: a function that is called and not there, by name.
llvm::Expected<std::string> compilePtx(const llvm::Module &module, GpuTarget target);

// Assembles PTX by `ptxas` of PATH, CUDA_HOME or /usr/local/cuda; none where there is no ptxas. `report` gets what `ptxas -v` says of
// each kernel. Errors: what ptxas says.
llvm::Expected<std::optional<std::vector<char>>>
assembleCubin(llvm::StringRef ptx, GpuTarget target, std::string *report = nullptr);

// The same. Where ptxas would have a kernel spill so that a multiprocessor holds more blocks of it, changes `ptx` to ask for fewer,
// which drivers that translate it heed as well.
llvm::Expected<std::optional<std::vector<char>>>
assembleWithoutSpills(std::string &ptx, GpuTarget target, std::string *report = nullptr);

// What a kernel takes of a multiprocessor.
struct KernelResources {
  std::string symbol;
  unsigned registers = 0;   // of a thread
  unsigned sharedBytes = 0; // of a block
  unsigned spillBytes = 0;  // that a thread writes to and reads from memory for want of registers
  unsigned localBytes = 0;  // of memory that each thread has, for these and for arrays
};
std::vector<KernelResources> readResources(llvm::StringRef report);

} // namespace dtc

// Compiles LLVM IR to a shared object for x86-64 Linux.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <string>
#include <vector>

namespace dtc {

// The processor that code is generated for.
struct KernelTarget {
  std::string cpu =
      "x86-64-v3"; // an LLVM processor name: x86-64-v3 (AVX2), x86-64-v4 (AVX-512), znver4, ...
  std::string features;  // LLVM features that are added or removed, such as "+avx512bf16,-fma"
  bool optimized = true; // false: compiled in a fifth of the time, to code that is slower
};

// Returns a machine that generates position-independent code. Errors: an unknown processor.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const KernelTarget &target,
                    llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Aggressive);

// Runs LLVM's -O3 pipeline over `module`, whose triple and data layout must be the machine's.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

// Optimises `module` with the settings for kernels and returns its object file.
llvm::Expected<llvm::SmallVector<char, 0>> compileObject(llvm::Module &module,
                                                         llvm::TargetMachine &machine);

// Returns the object file of `module` without optimising it first.
llvm::Expected<llvm::SmallVector<char, 0>> compileObjectQuickly(llvm::Module &module,
                                                                llvm::TargetMachine &machine);

} // namespace dtc

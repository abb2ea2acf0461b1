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

} // namespace dtc

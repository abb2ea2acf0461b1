// Machine code of a module's kernel functions.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/KernelSide.h"

#include "passes/native/ObjectCode.h"

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace dtc {

// An ELF shared object for x86-64 Linux with one function per kernel:
//   void NAME(char *const *buffers, const int64_t *scalars, int64_t begin, int64_t end)
// - `buffers`: operands, then results, each aligned to its element type (8 bytes for scalars).
// - `scalars`: the start of each piece of each kernel_scalars entry.
// - The call computes units [begin, end) of kernel_range.
struct KernelLibrary {
  std::vector<char> bytes;          // empty if there are no kernels
  std::vector<std::string> symbols; // in the order of the module
};

// Compiles the kernel functions of `module` that run on `side`; leaves the module as it is. The
// bytes depend on the kernels and the target only, not on the machine, the time or the paths. The
// code imports nothing but functions of libm.
//
// Example: a module of one `graph.func private @kernel_0 ... attributes {kernel, ...}` gives
// symbols {"kernel_0"}. Errors (as diagnostics): an unknown processor; an op that has no kernel;
// code that would need other imports.
mlir::FailureOr<KernelLibrary> lowerKernels(mlir::ModuleOp module, const KernelTarget &target = {},
                                            KernelSide side = KernelSide::Any);

} // namespace dtc

// Compiles device code for the emulated GPU (runtime/simt).
#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace dtc {

// Rewrites device IR, the same that becomes PTX, to an x86-64 shared object for simt::loadModule.
// The IR is optimised as for PTX first. Every access to memory that is not local is then checked by
// the emulator before it is made, intrinsics and inline PTX become calls of the emulator, and
// variables in shared memory move to the memory of the emulated block.
//
// Kernels are functions of calling convention ptx_kernel, or marked "kernel" in nvvm.annotations.
// With nvvm.reqntid or nvvm.maxntid the emulator enforces these limits at launch.
//
// Errors: intrinsics that the emulator does not have, by name, with the function that uses them
// (runtime/simt/Intrinsics.def lists those it has); calls of undefined functions.
llvm::Expected<std::vector<char>> compileForSimt(std::unique_ptr<llvm::Module> device);

} // namespace dtc

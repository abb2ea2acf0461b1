// Device code for the emulated GPU (runtime/simt).
#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace dtc {

// Rewrites device IR, the same that becomes PTX, to an x86-64 shared object for simt::Module::load. The IR is optimised
// as for PTX first. Then every access to memory that is not local asks the emulator before it is made; intrinsics and
// inline PTX become calls of the emulator; shared memory is the block's.
//
// Kernels are functions of calling convention ptx_kernel, or called "kernel" by nvvm.annotations; with nvvm.reqntid or
// nvvm.maxntid the emulator holds launches to these.
//
// Errors: what the emulator does not have, by name, with the function that uses it (runtime/simt/Intrinsics.def has the
// list); calls of functions that nothing defines.
llvm::Expected<std::vector<char>> compileForSimt(std::unique_ptr<llvm::Module> device);

} // namespace dtc

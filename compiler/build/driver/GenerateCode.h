// Machine code for the kernels of a scheduled module.
#pragma once

#include "compiler/build/driver/CompileTarget.h"
#include "compiler/build/emit/ProgramCode.h"
#include "dialects/exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Compiles the kernel functions of `module`, whose programs these are. On GPUs also the
// hand-written kernels that the programs launch: PTX, behind it a cubin where ptxas is found and
// the target wants one; or a shared object for the emulated GPU. Errors (as diagnostics): an op
// that has no kernel on the device; what a code generator or ptxas says.
mlir::FailureOr<ProgramCode> generateCode(mlir::ModuleOp module,
                                          llvm::ArrayRef<exec::ProgramOp> programs,
                                          const CompileTarget &target);

} // namespace dtc

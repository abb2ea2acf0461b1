// Checks of the buffers of instructions, for their verifiers.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc::exec {

// Checks that `buffer`, called `role`, has `elements` elements of f32 (or of `dtype`).
mlir::LogicalResult verifyElements(mlir::Operation *op, llvm::StringRef role, mlir::Value buffer,
                                   int64_t elements, bool exact, mlir::Type dtype = {});

// Checks that `buffer` has `elements` elements of any floating-point type.
mlir::LogicalResult verifyFloats(mlir::Operation *op, llvm::StringRef role, mlir::Value buffer,
                                 int64_t elements, bool exact);

// Checks that an instruction that starts a sum adds to one.
mlir::LogicalResult verifyStartsSum(InstructionOpInterface op);

} // namespace dtc::exec

// The entry of a merged kernel.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace dtc {

// Wraps a piece, which becomes internal, in a merged kernel:
//   ptx_kernel void NAME(ptr firsts, ptr records, i64 count)
// Piece i of `count` has the blocks from firsts[i], an i64, on. Its record holds the bytes of its
// last buffer, an i64, and a pointer to each buffer.
void addMergedEntry(mlir::LLVM::LLVMFuncOp piece);

} // namespace dtc

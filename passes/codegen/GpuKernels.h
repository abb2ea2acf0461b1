// Bodies of kernels on a GPU, each for the unit of one block.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/codegen/GpuKernelBuilder.h"

namespace dtc {

// Function attribute: threads of a block.
inline constexpr llvm::StringLiteral blockThreadsName = "dtc.block_threads";

// Has `body` emit the work of one block of `function`, whose last argument is the number of units;
// blocks past them do nothing. Calls `body` twice if it reads 16 bytes at once, since buffers may
// be views that begin anywhere: once for aligned buffers, once element by element.
llvm::LogicalResult emitGpuBlock(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::func::FuncOp function, const KernelBuilder::Buffers &buffers,
                                 llvm::function_ref<llvm::LogicalResult(GpuKernelBuilder &)> body);

// Has `body` emit the work of one block of a function that is a piece of several launches
// (MergedKernels.h); the caller has checked the block's number.
llvm::LogicalResult emitGpuPiece(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::func::FuncOp function, const KernelBuilder::Buffers &buffers,
                                 llvm::function_ref<llvm::LogicalResult(GpuKernelBuilder &)> body);

} // namespace dtc

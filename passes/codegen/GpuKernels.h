// Bodies of kernels on a GPU, each for the unit of one block.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/codegen/GpuKernelBuilder.h"

namespace dtc {

// How many threads a block of a function has.
inline constexpr llvm::StringLiteral blockThreadsName = "dtc.block_threads";

// Has `body` emit the work of one block of `function`, whose last argument is the number of units: blocks past them do nothing.
// Where it reads 16 bytes at once it emits twice, since buffers may be views that begin anywhere: once for the case that all of
// them are aligned, once element by element.
llvm::LogicalResult emitGpuBlock(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::func::FuncOp function, const KernelBuilder::Buffers &buffers,
                                 llvm::function_ref<llvm::LogicalResult(GpuKernelBuilder &)> body);

// The same of a function that is a piece of several launches (MergedKernels.h), of which the caller has checked the block.
llvm::LogicalResult emitGpuPiece(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::func::FuncOp function, const KernelBuilder::Buffers &buffers,
                                 llvm::function_ref<llvm::LogicalResult(GpuKernelBuilder &)> body);

} // namespace dtc

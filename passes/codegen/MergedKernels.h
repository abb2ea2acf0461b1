// Kernels that do several launches at once: on a GPU a launch of few points takes as long as one of a million.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/codegen/PointwiseLoops.h"
#include "llvm/ADT/MapVector.h"
#include <string>

namespace dtc {

// Threads of their blocks, and points of a block: what four blocks of the kernel itself have.
inline constexpr int64_t mergedThreads = 256, mergedPoints = 4 * minUnitPoints;

// Kernels of a module that are pointwise along one line, by what they compute: kernels that differ in the length of the line alone
// have one kernel for launches of any of them.
class MergedKernels {
public:
  explicit MergedKernels(mlir::ModuleOp module);

  // The name of the kernel that does launches of `kernel`; empty where there is none.
  std::string nameOf(graph::FuncOp kernel) const;
  // Whether that one is made of `kernel`, which has the longest line.
  bool isLongest(graph::FuncOp kernel) const;

private:
  struct Kind {
    std::string name;
    graph::FuncOp longest;
  };
  llvm::MapVector<mlir::Operation *, unsigned> kindOf;
  std::vector<Kind> kinds;
};

// Of a kernel's function, in its dialects: the name of the kernel that does launches of it.
inline constexpr llvm::StringLiteral mergedByName = "dtc.merged_by";
// Of a function that is a piece of such a kernel, with the arguments (memref per buffer, block: index, size: index): bytes of an
// element of its last buffer.
inline constexpr llvm::StringLiteral mergedElementName = "dtc.merged_element_bytes";

// Makes a kernel of such a function, which becomes internal:
//   ptx_kernel void NAME(ptr firsts, ptr records, i64 count)
// Piece i of `count` is that of blocks from firsts[i], an i64, on; its record is the bytes of its last buffer, an i64, and a pointer to
// each buffer.
void addMergedEntry(mlir::LLVM::LLVMFuncOp piece);

} // namespace dtc

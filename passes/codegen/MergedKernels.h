// Kernels that do several launches at once: on a GPU a launch of few points takes as long as one of
// a million.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/PointwiseLoops.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"
#include <string>

namespace dtc {

// Threads of a merged block, and points of a block: as many as four blocks of the original kernel
// have.
inline constexpr int64_t mergedThreads = 256, mergedPoints = 4 * minUnitPoints;

// The pointwise kernels of a module that have one loop, grouped by their computation: kernels that
// differ only in the length of the loop share one merged kernel.
class MergedKernels {
public:
  explicit MergedKernels(mlir::ModuleOp module);

  // Returns the name of the kernel that does launches of `kernel`; empty if there is none.
  std::string nameOf(graph::FuncOp kernel) const;
  // True if the merged kernel is made from `kernel`, the one with the longest loop.
  bool isLongest(graph::FuncOp kernel) const;

private:
  struct Kind {
    std::string name;
    graph::FuncOp longest;
  };
  llvm::MapVector<mlir::Operation *, unsigned> kindOf;
  std::vector<Kind> kinds;
};

// Attribute of a kernel's lowered function: the name of the merged kernel that does its launches.
inline constexpr llvm::StringLiteral mergedByName = "dtc.merged_by";
// Attribute of a function that is a piece of a merged kernel, with the arguments (memref per
// buffer, block: index, size: index): bytes of an element of its last buffer.
inline constexpr llvm::StringLiteral mergedElementName = "dtc.merged_element_bytes";

} // namespace dtc

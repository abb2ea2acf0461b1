// Functions that are equal except for their names.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace dtc::graph {

// The kernel functions of a module, one for each body: kernels of one type with equal bodies share
// one, whatever their source locations.
class KernelPool {
public:
  // New kernels are named `prefix` and a free number.
  KernelPool(mlir::ModuleOp module, llvm::StringRef prefix);

  // Returns an equal kernel of the module and erases `kernel`, or else adds `kernel` to the module
  // and returns it.
  FuncOp getOrAdd(FuncOp kernel);

  unsigned numAdded() const { return nextNumber; }
  unsigned numShared() const { return shared; }

private:
  mlir::SymbolTable symbols;
  std::string prefix;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<FuncOp>> kernels;
  unsigned nextNumber = 0, shared = 0;
};

} // namespace dtc::graph

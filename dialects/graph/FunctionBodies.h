// Functions that are equal but for their names.
#pragma once

#include "dialects/graph/Graph.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace dtc::graph {

// The kernel functions of a module, one for each body: kernels of one type that do the same, whatever
// their places in the source.
class KernelPool {
public:
  // Those that it adds are called `prefix` and a number that is free.
  KernelPool(mlir::ModuleOp module, llvm::StringRef prefix);

  // The kernel of the module that is like `kernel`, which then goes, or else `kernel`, which becomes
  // part of the module.
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

// Finds functions that are equal except for their names.
#include "dialects/graph/FunctionBodies.h"
#include "dialects/graph/HostMemory.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace dtc::graph;

static llvm::hash_code hashOf(FuncOp function) {
  llvm::hash_code code = mlir::hash_value(Type(function.getFunctionType()));
  for (Operation &op : function.getBody().front())
    code = llvm::hash_combine(
        code, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  return code;
}

static bool areEquivalent(FuncOp a, FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         a->hasAttr(kHostAttr) == b->hasAttr(kHostAttr) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

KernelPool::KernelPool(ModuleOp module, StringRef prefix) : symbols(module), prefix(prefix) {}

FuncOp KernelPool::getOrAdd(FuncOp kernel) {
  SmallVector<FuncOp> &known = kernels[hashOf(kernel)];
  for (FuncOp other : known)
    if (areEquivalent(kernel, other)) {
      kernel.erase();
      ++shared;
      return other;
    }
  std::string name;
  do
    name = prefix + std::to_string(nextNumber++);
  while (symbols.lookup(name));
  kernel.setSymName(name);
  symbols.insert(kernel);
  known.push_back(kernel);
  return kernel;
}

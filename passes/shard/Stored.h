// Finds the parameters and the state of a module by name.
#pragma once

#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringMap.h"

namespace dtc {

// The parameters and the state of a module by name. ModuleOp::lookupSymbol searches all ops of the
// module for each name, which takes quadratic time where a model has tens of thousands of them.
class Stored {
public:
  // Reads the names. The module must outlive this, and keep its parameters and its state.
  explicit Stored(mlir::ModuleOp module) {
    for (mlir::Operation &op : *module.getBody()) {
      auto state = llvm::dyn_cast<graph::StateOp>(op);
      if (!state && !llvm::isa<graph::ParameterOp>(op))
        continue;
      ops[mlir::SymbolTable::getSymbolName(&op).getValue()] = &op;
      if (state && state.getParameter() && !state->hasAttr(graph::kByRankAttr) &&
          !state->hasAttr(graph::kOwnShapeAttr))
        firstStates.try_emplace(*state.getParameter(), state);
    }
  }

  // Returns the graph.parameter or graph.state of a name; null if there is none.
  mlir::Operation *at(llvm::StringRef name) const { return ops.lookup(name); }

  // Returns the first state of an optimizer for a parameter that is placed as its gradient is used;
  // null if it has none.
  graph::StateOp firstStateOf(llvm::StringRef parameter) const {
    return firstStates.lookup(parameter);
  }

private:
  llvm::StringMap<mlir::Operation *> ops;
  llvm::StringMap<graph::StateOp> firstStates; // by the name of their parameter
};

} // namespace dtc

// Names that a model's author gave to values and types. They are kept in locations, so that they
// live as long as the op and no pass needs to know of them.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

#include <map>
#include <string>

namespace dtc::graph {

// Returns a location for an op whose results have these names, written at `at`: nameValues({"cos",
// "sin"}, loc).
mlir::Location nameValues(llvm::ArrayRef<llvm::StringRef> names, mlir::Location at);

// Returns the names in a location, in the order of the results; empty if it has none.
llvm::SmallVector<llvm::StringRef> namesIn(mlir::Location location);

// The types of a model by name: {"hidden", tensor<?x1024x768xf32>} is written '!hidden'.
using TypeNames = std::map<std::string, mlir::Type>;
// Stores the type names in the location of the module.
void setTypeNames(mlir::ModuleOp module, const TypeNames &names);
// Returns the type names of a module; empty if it has none.
TypeNames getTypeNames(mlir::ModuleOp module);

} // namespace dtc::graph

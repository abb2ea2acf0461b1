// Groups parameters that share a placement: those that are passed to the same argument of a block.
// Internal to this folder.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <vector>

namespace dtc {

// Example: '@layer' is called with %h.0.w and with %h.1.w as its argument 1: both parameters and
// the argument are one class.
class WeightClasses {
public:
  // Classifies the values of '@microbatch' and all functions that it calls.
  explicit WeightClasses(mlir::ModuleOp step);

  // Nothing for values that are no parameter. An argument that gets a parameter in one call and
  // something else in another is none.
  std::optional<unsigned> of(mlir::Value value) const;
  // Returns the class of a parameter.
  std::optional<unsigned> of(llvm::StringRef parameter) const;

  // The parameters of a class, and their use.
  struct Class {
    std::vector<graph::ParameterOp> parameters;
    mlir::RankedTensorType type;
    bool isInProduct = false; // a product reads it
    bool isOfExperts = false; // one weight for each expert
  };
  // Returns a class by its index.
  const Class &operator[](unsigned index) const { return classes[index]; }
  size_t size() const { return classes.size(); }

private:
  bool joinCalls(mlir::ModuleOp step);
  void number(mlir::ModuleOp step);
  void findProducts(mlir::ModuleOp step);

  llvm::EquivalenceClasses<const void *> joined; // keys: pointers of values and parameters
  llvm::DenseSet<mlir::Value> others;            // arguments that something else is passed to
  llvm::DenseMap<const void *, unsigned> numbers;
  llvm::StringMap<graph::ParameterOp> parameters;
  std::vector<Class> classes;
};

} // namespace dtc

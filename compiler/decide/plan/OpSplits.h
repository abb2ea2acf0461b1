// The split of every op of a step over tensor parallelism, in a form that plans carry from one copy
// of the model to another.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace dtc {

struct Mesh;

// Splits per function of the differentiated step. Empty: there is no tensor parallelism.
struct OpSplits {
  // The split of one op.
  struct Op {
    std::string
        name; // name without "graph."; the n-th entry of a name is the n-th such op of the function
    // On each axis of tensor parallelism (stepMesh), as split::kNone ... of passes/shard/OpSplit.h;
    // one entry where it is the same on all.
    std::vector<int> choices;
    bool operator==(const Op &) const = default;
  };
  std::map<std::string, std::vector<Op>> functions; // ops that are in plans, in program order
  // Returns true if there is no tensor parallelism.
  bool empty() const { return functions.empty(); }
  bool operator==(const OpSplits &) const = default;
};

// Placements over tensor parallelism that were searched for, of a folded model.
struct SearchedPlacements {
  OpSplits splits;
  // The dim that is split on each axis of tensor parallelism, -1: none.
  std::map<std::string, std::vector<int64_t>> parameters;
  bool operator==(const SearchedPlacements &) const = default;
};

// Gives the parameters of a whole forward model (`@loss`) the placements of its folded one on the
// mesh's axes of tensor parallelism: layers have that of the layer that was kept. Parameters that
// are not named stay whole.
void placeParameters(mlir::ModuleOp model,
                     const std::map<std::string, std::vector<int64_t>> &parameters,
                     const Mesh &mesh);

} // namespace dtc

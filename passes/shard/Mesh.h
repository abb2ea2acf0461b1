// The mesh of ranks and the placement of tensors on it.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace dtc {

using graph::AxisPlacement;
using graph::AxisRole;

// Axes outermost first, as in the module's `shard.grid @mesh`; rank = row-major index of the
// coordinates.
struct Mesh {
  llvm::SmallVector<std::string, 3> names;
  llvm::SmallVector<int64_t, 3> sizes;
  llvm::SmallVector<AxisRole, 3> roles; // empty where nobody asks for them

  size_t numAxes() const { return names.size(); }
  // -1 when the mesh has no such axis; plans name axes.
  int axisNamed(llvm::StringRef name) const;
  // The axes of a role, outermost first; the first of them, or -1 where there is none.
  llvm::SmallVector<unsigned, 2> axesOf(AxisRole role) const;
  int axisOf(AxisRole role) const;
  int64_t numRanks() const;
};

// Reads `shard.grid @mesh` and its attributes graph.axis_names and graph.axis_roles. Emits a
// diagnostic when one is missing.
llvm::FailureOr<Mesh> readMesh(mlir::ModuleOp module);

// Adds `shard.grid @mesh` to the module, replacing the one that is there.
void writeMesh(mlir::ModuleOp module, const Mesh &mesh);

// One entry per mesh axis.
using Placement = llvm::SmallVector<AxisPlacement, 3>;

Placement replicated(const Mesh &mesh);
std::string toString(const Placement &placement);

// How many ranks split tensor dim `dim`.
int64_t partsOf(const Placement &placement, const Mesh &mesh, int64_t dim);

// The shape each rank holds: ceil(size / parts) along split dims; the rest is padding, and padding
// is zero. Example: 50257 words split 8 ways: 6283, of which the last rank uses 6276.
mlir::RankedTensorType localType(mlir::RankedTensorType global, const Placement &placement,
                                 const Mesh &mesh);

// The same of a value that may be a stack of tensors placed alike.
mlir::Type localType(mlir::Type global, const Placement &placement, const Mesh &mesh);

graph::PlacementAttr toAttr(mlir::MLIRContext *context, const Placement &placement);
// The placement of an attribute, or all-replicate where it is null or of another mesh's length.
Placement fromAttr(graph::PlacementAttr attr, const Mesh &mesh);

} // namespace dtc

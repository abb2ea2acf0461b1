// The mesh of ranks and the placement of tensors on it.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace dtc {

using graph::AxisPlacement;
using graph::AxisRole;

// The mesh of ranks. Axes are outermost first, as in the module's `shard.grid @mesh`; the rank is
// the row-major index of its coordinates.
struct Mesh {
  llvm::SmallVector<std::string, 3> names;
  llvm::SmallVector<int64_t, 3> sizes;
  llvm::SmallVector<AxisRole, 3> roles; // may be empty if roles are not needed

  size_t numAxes() const { return names.size(); }
  // Returns the axis of that name; -1 if the mesh has none. Plans refer to axes by name.
  int axisNamed(llvm::StringRef name) const;
  // Returns the axes of a role, outermost first.
  llvm::SmallVector<unsigned, 2> axesOf(AxisRole role) const;
  // Returns the first axis of a role; -1 if there is none.
  int axisOf(AxisRole role) const;
  // Returns the product of the sizes of all axes.
  int64_t numRanks() const;
};

// Reads `shard.grid @mesh` and its attributes graph.axis_names and graph.axis_roles. Emits a
// diagnostic if one of them is missing.
llvm::FailureOr<Mesh> readMesh(mlir::ModuleOp module);

// Adds `shard.grid @mesh` to the module, replacing an existing one.
void writeMesh(mlir::ModuleOp module, const Mesh &mesh);

// The placement of a tensor: one entry per mesh axis.
using Placement = llvm::SmallVector<AxisPlacement, 3>;

// Returns the placement in which every rank holds the whole tensor.
Placement replicated(const Mesh &mesh);
// Returns the placement as text: a list with one entry per axis.
std::string toString(const Placement &placement);

// Returns the number of shards into which tensor dim `dim` is split.
int64_t partsOf(const Placement &placement, const Mesh &mesh, int64_t dim);

// Returns the shape that each rank holds: ceil(size / shards) along split dims; the rest is
// padding, which is zero. Example: 50257 vocabulary entries split 8 ways: 6283, of which the last
// rank uses 6276.
mlir::RankedTensorType localType(mlir::RankedTensorType global, const Placement &placement,
                                 const Mesh &mesh);

// Returns the local type of a tensor, or of a stack of tensors with the same placement.
mlir::Type localType(mlir::Type global, const Placement &placement, const Mesh &mesh);

// Returns the placement as an attribute.
graph::PlacementAttr toAttr(mlir::MLIRContext *context, const Placement &placement);
// Reads a placement attribute; returns the replicated placement if it is null or belongs to a mesh
// with another number of axes.
Placement fromAttr(graph::PlacementAttr attr, const Mesh &mesh);

} // namespace dtc

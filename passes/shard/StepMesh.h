// The mesh of a model under a plan's degrees of parallelism.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// The degrees of parallelism, in ranks.
struct MeshSizes {
  int64_t dp = 1, tp = 1, pp = 1;
  int64_t zeroGroup = 0; // ranks of dp among which ZeRO shards; 0: all
  int64_t ep = 1;        // ranks of dp, neighbours, that have different experts
  int64_t cp = 1;        // ranks that have different parts of each sequence
};

// Returns the mesh dp x tp, with pp outside of them if there are stages. If tp does not divide the
// number of kv heads (as when there are fewer than tp), tensor parallelism has two axes, both of
// its role: "tp.kv", the largest divisor of tp that divides the kv heads, outside "tp.group", the
// ranks that hold the same kv heads. If that divisor is 1, tp stays one axis. Tensors without kv
// heads are split over both together.
//
// If ZeRO shards within groups of ranks, data parallelism has two axes, both of its role:
// "dp.groups" outside "dp.shards", the ranks of a group. Each group holds the whole state.
//
// If experts are on several ranks, "dp" has the ranks with the same experts, outside of "ep", which
// has different ones. Both split the samples. Groups of ZeRO hold all experts.
//
// If sequences are on several ranks, "cp" is inside of all of these and outside of tp. Its ranks
// hold the same parameters, among which ZeRO shards too.
//
// Example: 4 kv heads with 4 query heads each on tp = 8: 4 x 2. A rank has one kv head and two of
// its query heads; two ranks add up the gradients of a kv head.
Mesh stepMesh(mlir::ModuleOp model, const MeshSizes &sizes);

// Returns the axes whose ranks have different samples, outermost first.
llvm::SmallVector<unsigned, 2> axesOfSamples(const Mesh &mesh);

} // namespace dtc

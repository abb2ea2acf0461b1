// All ranks of a mesh in one process: cuts tensors into parts and runs what `reshard` emits.
#pragma once

#include "passes/shard/Mesh.h"

#include <vector>

namespace dtc::test {

// Row-major elements.
struct Elements {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> values;
};

// What one rank holds of `whole`: its blocks of split dims, zero where they reach beyond, and of
// every partial axis an addend (or for max a bound) of its own.
Elements partOf(const Elements &whole, const Placement &placement, const Mesh &mesh, int64_t rank);

// The coordinate of a rank on an axis, and the rank with another coordinate there.
int64_t coordinateOf(const Mesh &mesh, int64_t rank, unsigned axis);
int64_t neighbour(const Mesh &mesh, int64_t rank, unsigned axis, int64_t coordinate);

// Runs the ops of a block on every rank, `parts` being its argument, and returns what each rank has
// of `result`. Knows the ops that reshard emits.
std::vector<Elements> runOnRanks(mlir::Block &block, mlir::Value result,
                                 std::vector<Elements> parts, const Mesh &mesh);

} // namespace dtc::test

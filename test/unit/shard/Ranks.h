// Simulates all ranks of a mesh in one process: cuts tensors into parts, and runs the steps of a
// move or the ops that `reshard` emits for them.
#pragma once

#include "passes/shard/ReshardSteps.h"

namespace dtc::test {

// Row-major elements.
struct Elements {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> values;
};

// Returns elements of `shape` that all differ.
Elements counted(llvm::ArrayRef<int64_t> shape);

// Returns the part of `whole` that one rank holds, by the definition of placements: its pieces of
// split dims, with zeros beyond their ends, and for every partial axis an addend (or for max a
// bound) of its own.
Elements partOf(const Elements &whole, const Placement &placement, const Mesh &mesh, int64_t rank);

// Returns the coordinate of a rank on an axis.
int64_t coordinateOf(const Mesh &mesh, int64_t rank, unsigned axis);
// Returns the rank with another coordinate on the axis.
int64_t neighbour(const Mesh &mesh, int64_t rank, unsigned axis, int64_t coordinate);

// Runs one step on every rank.
std::vector<Elements> runStep(const ReshardStep &step, const std::vector<Elements> &parts,
                              const Mesh &mesh);

// Runs the ops of a block on every rank, with `parts` as its argument. Returns the value of
// `result` on each rank. Supports the ops that reshard emits.
std::vector<Elements> runOnRanks(mlir::Block &block, mlir::Value result,
                                 std::vector<Elements> parts, const Mesh &mesh);

// Fails the test if a rank does not hold its part by `to`. Sums may be divided in any way.
void expectPlaced(const Elements &whole, const std::vector<Elements> &found, const Placement &to,
                  const Mesh &mesh, const std::string &what);

// Returns a move in words, for messages.
std::string describe(llvm::ArrayRef<int64_t> shape, const Placement &from, const Placement &to,
                     const Mesh &mesh);

// A random mesh, shape and pair of placements: every order of axes, zig-zag splits, sums and
// maxima.
struct Move {
  Mesh mesh;
  llvm::SmallVector<int64_t> shape;
  Placement from, to;
};
// Returns the random move of a seed.
Move drawMove(unsigned seed);

} // namespace dtc::test

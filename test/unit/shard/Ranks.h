// All ranks of a mesh in one process: cuts tensors into parts, and runs the steps of a move or the
// ops that `reshard` emits for them.
#pragma once

#include "passes/shard/ReshardSteps.h"

namespace dtc::test {

// Row-major elements.
struct Elements {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> values;
};

// Elements of `shape` that all differ.
Elements counted(llvm::ArrayRef<int64_t> shape);

// What one rank holds of `whole`, from the definition of placements: its pieces of split dims, zero
// where they reach beyond, and of every partial axis an addend (or for max a bound) of its own.
Elements partOf(const Elements &whole, const Placement &placement, const Mesh &mesh, int64_t rank);

// The coordinate of a rank on an axis, and the rank with another coordinate there.
int64_t coordinateOf(const Mesh &mesh, int64_t rank, unsigned axis);
int64_t neighbour(const Mesh &mesh, int64_t rank, unsigned axis, int64_t coordinate);

// Runs one step on every rank.
std::vector<Elements> runStep(const ReshardStep &step, const std::vector<Elements> &parts,
                              const Mesh &mesh);

// Runs the ops of a block on every rank, `parts` being its argument, and returns what each rank has
// of `result`. Knows the ops that reshard emits.
std::vector<Elements> runOnRanks(mlir::Block &block, mlir::Value result,
                                 std::vector<Elements> parts, const Mesh &mesh);

// Fails the test where a rank does not hold what `to` says; how a sum is shared out is free.
void expectPlaced(const Elements &whole, const std::vector<Elements> &found, const Placement &to,
                  const Mesh &mesh, const std::string &what);

std::string describe(llvm::ArrayRef<int64_t> shape, const Placement &from, const Placement &to,
                     const Mesh &mesh);

// Mesh, shape and two placements drawn at random: every order of axes, zig-zag splits, sums and
// maxima.
struct Move {
  Mesh mesh;
  llvm::SmallVector<int64_t> shape;
  Placement from, to;
};
Move drawMove(unsigned seed);

} // namespace dtc::test

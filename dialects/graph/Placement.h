// What a placement makes of a tensor on a mesh.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace dtc::graph {

// The sizes of the axes of the module's mesh (the op shard.grid @mesh), outermost first; none
// without a mesh.
std::optional<llvm::SmallVector<int64_t>> getMeshSizes(mlir::Operation *insideModule);

// The axes that split one dim, outermost first; axes of size 1 split nothing.
//
// The dim is padded at its end, and only there, to `parts * pieces` equal pieces. Without a zig-zag
// axis a rank has one piece. With one it has two, and the axes inside of the zig-zag one split each
// of its two chunks, so that where a piece starts is always base + sum of stride * coordinate.
struct DimSplit {
  llvm::SmallVector<unsigned, 2> axes;
  int zigzag = -1;    // position in `axes`, -1 for none
  int64_t parts = 1;  // ranks that hold different parts
  int64_t pieces = 1; // of each rank

  // Elements of one piece, and of the dim with its padding.
  int64_t pieceSize(int64_t global) const {
    return global / (parts * pieces) + (global % (parts * pieces) != 0);
  }
  int64_t paddedSize(int64_t global) const { return pieceSize(global) * parts * pieces; }
  int64_t localSize(int64_t global) const { return pieceSize(global) * pieces; }
  bool operator==(const DimSplit &other) const {
    return axes == other.axes && zigzag == other.zigzag;
  }
};
DimSplit getDimSplit(llvm::ArrayRef<AxisPlacement> placement, llvm::ArrayRef<int64_t> meshSizes,
                     int64_t dim);

// Where a piece of a split dim starts in the whole dim: base + sum of stride * coordinate on axis.
// Example: 64 positions, zig-zag over axis 1 of 4 ranks: pieces start at 8 c and at 56 - 8 c.
struct PieceStart {
  struct Term {
    unsigned axis;
    int64_t stride;
  };
  int64_t base = 0;
  llvm::SmallVector<Term, 2> terms;
};
llvm::SmallVector<PieceStart, 2> getPieceStarts(const DimSplit &split, int64_t global,
                                                llvm::ArrayRef<int64_t> meshSizes);

// The window of a loop split as `split` says, and what a window says on a mesh: where its pieces
// start. Fails without a word where the mesh lacks one of its axes or makes other sizes of it.
WindowAttr getWindow(mlir::MLIRContext *context, unsigned loop, const DimSplit &split,
                     int64_t global);
llvm::FailureOr<llvm::SmallVector<PieceStart, 2>> getPieceStarts(WindowAttr window,
                                                                 llvm::ArrayRef<int64_t> meshSizes);

// The same placement with the smallest levels that say it, so that equal placements compare equal.
// Example: [shard(0, level 3), shard(0)] becomes [shard(0, level 1), shard(0)], and
// [shard(0, level 1), replicate] becomes [shard(0), replicate].
llvm::SmallVector<AxisPlacement, 3> canonicalPlacement(llvm::ArrayRef<AxisPlacement> placement);

// As it stands in placements: "replicate", "shard(1)", "shard(0, level 1)", "shard(1, zigzag)",
// "partial(sum)".
std::string toString(const AxisPlacement &placement);

// The type of one rank's part: every split dim divided by the sizes of all its axes, rounded up, so
// that all ranks have the same type and the last ones may hold padding. Dynamic dims stay dynamic.
//
// Example: tensor<50257x768xf32>, [replicate, shard(0)] on a 2x8 mesh gives tensor<6283x768xf32>.
mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                    llvm::ArrayRef<AxisPlacement> placement,
                                    llvm::ArrayRef<int64_t> meshSizes);

} // namespace dtc::graph

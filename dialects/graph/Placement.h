// The effect of a placement on a tensor on a mesh.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace dtc::graph {

// Returns the sizes of the axes of the module's mesh (the op shard.grid @mesh), outermost first;
// nullopt without a mesh.
std::optional<llvm::SmallVector<int64_t>> getMeshSizes(mlir::Operation *insideModule);

// The axes that split one dim, outermost first; axes of size 1 split nothing.
//
// The dim is padded at its end, and only there, to `parts * pieces` equal pieces. Without a zig-zag
// axis a rank has one piece. With one it has two, and the axes inside of the zig-zag one split each
// of its two chunks, so that the start of a piece is always base + sum of stride * coordinate.
struct DimSplit {
  llvm::SmallVector<unsigned, 2> axes;
  int zigzag = -1;    // position in `axes`, -1 for none
  int64_t parts = 1;  // ranks that hold different parts
  int64_t pieces = 1; // pieces of each rank

  // Returns the elements of one piece of a dim with `global` elements, rounded up.
  int64_t pieceSize(int64_t global) const {
    return global / (parts * pieces) + (global % (parts * pieces) != 0);
  }
  // Returns the elements of the dim with its padding.
  int64_t paddedSize(int64_t global) const { return pieceSize(global) * parts * pieces; }
  // Returns the elements that a rank holds, padding included.
  int64_t localSize(int64_t global) const { return pieceSize(global) * pieces; }
  bool operator==(const DimSplit &other) const {
    return axes == other.axes && zigzag == other.zigzag;
  }
};
// Returns the split of tensor dim `dim` under a placement.
DimSplit getDimSplit(llvm::ArrayRef<AxisPlacement> placement, llvm::ArrayRef<int64_t> meshSizes,
                     int64_t dim);

// The start of a piece of a split dim in the whole dim: base + sum of stride * coordinate on axis.
// Example: 64 positions, zig-zag over axis 1 of 4 ranks: pieces start at 8 c and at 56 - 8 c.
struct PieceStart {
  // The contribution of one mesh axis.
  struct Term {
    unsigned axis;
    int64_t stride;
  };
  int64_t base = 0;
  llvm::SmallVector<Term, 2> terms;
};
// Returns the start of each piece of a rank, for a dim of `global` elements.
llvm::SmallVector<PieceStart, 2> getPieceStarts(const DimSplit &split, int64_t global,
                                                llvm::ArrayRef<int64_t> meshSizes);

// Returns the window of a loop that is split as `split` says.
WindowAttr getWindow(mlir::MLIRContext *context, unsigned loop, const DimSplit &split,
                     int64_t global);
// Returns the start of each piece of a window on a mesh. Fails without a diagnostic if the mesh
// lacks one of its axes or gives other sizes.
llvm::FailureOr<llvm::SmallVector<PieceStart, 2>> getPieceStarts(WindowAttr window,
                                                                 llvm::ArrayRef<int64_t> meshSizes);

// Returns the same placement with the smallest levels that express it, so that equal placements
// compare equal. Example: [shard(0, level 3), shard(0)] becomes [shard(0, level 1), shard(0)], and
// [shard(0, level 1), replicate] becomes [shard(0), replicate].
llvm::SmallVector<AxisPlacement, 3> canonicalPlacement(llvm::ArrayRef<AxisPlacement> placement);

// Returns the text of an entry: "replicate", "shard(1)", "shard(0, level 1)", "shard(1, zigzag)",
// "partial(sum)".
std::string toString(const AxisPlacement &placement);

// Returns the type of one rank's shard: every split dim is divided by the sizes of all its axes,
// rounded up, so that all ranks have the same type and the last ones may hold padding. Dynamic dims
// stay dynamic.
//
// Example: tensor<50257x768xf32>, [replicate, shard(0)] on a 2x8 mesh gives tensor<6283x768xf32>.
mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                    llvm::ArrayRef<AxisPlacement> placement,
                                    llvm::ArrayRef<int64_t> meshSizes);

} // namespace dtc::graph

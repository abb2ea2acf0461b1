// Local and global indices of a loop of which a rank has a window.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"

namespace dtc {

// A window and the global index at which each of its pieces starts, as values of index type.
struct WindowStarts {
  graph::WindowAttr window;
  llvm::SmallVector<mlir::Value, 2> starts;
};

// Returns the global index of local index `local`: local + start of its piece - the local indices
// before the piece.
mlir::Value globalIndex(mlir::OpBuilder &builder, mlir::Location loc, const WindowStarts &window,
                        mlir::Value local);

// Returns the local index of a global one. If the rank does not have it, the result is no local
// index when read unsigned.
mlir::Value localIndex(mlir::OpBuilder &builder, mlir::Location loc, const WindowStarts &window,
                       mlir::Value global);

// Returns the number of local indices that are not padding. A negative result means none; a result
// above the size means all. Padding is at the end of the whole loop and pieces ascend, so the real
// indices come first.
mlir::Value validIndices(mlir::OpBuilder &builder, mlir::Location loc, const WindowStarts &window);

} // namespace dtc

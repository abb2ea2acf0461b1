// Local and global indices of a loop of which a rank has a window.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"

namespace dtc {

// A window and the global index at which each of its pieces starts, values of index type.
struct WindowStarts {
  graph::WindowAttr window;
  llvm::SmallVector<mlir::Value, 2> starts;
};

// The global index of local index `local`: local + start of its piece - what lies before the piece.
mlir::Value globalIndex(mlir::OpBuilder &builder, mlir::Location loc, const WindowStarts &window,
                        mlir::Value local);

// The local index of a global one; of one that the rank does not have some number that is no local
// index when read unsigned.
mlir::Value localIndex(mlir::OpBuilder &builder, mlir::Location loc, const WindowStarts &window,
                       mlir::Value global);

// How many local indices from 0 on are no padding; a number below 0 or above all of them says none
// or all. Padding is at the end of the whole loop and pieces are in rising order, so what is real
// comes first.
mlir::Value validIndices(mlir::OpBuilder &builder, mlir::Location loc, const WindowStarts &window);

} // namespace dtc

// Spreads the experts of a model over ranks.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Has the layers of experts of a model send the rows of each token to the ranks of its experts, and
// the results back, for `ranks` ranks that each have as many experts: graph.pack_rows makes blocks
// for each of them, graph.exchange moves these, and graph.sort_rows orders what arrives by expert.
// Blocks have room for all choices of a sample, so that rows of experts have `ranks` times the mean
// and none is ever without a place. The gradients follow from those of the ops.
//
// Example, 2 ranks, 8 experts, sequence * top = 256: rows 8x?x32x16 of pack_rows become blocks
// 2x?x256x16 and rows 8x?x64x16.
//
// Emits a diagnostic where the number of ranks does not divide that of the experts, or where an op
// has another idea of the shape of rows.
llvm::LogicalResult exchangeRows(mlir::ModuleOp model, int64_t ranks);

} // namespace dtc

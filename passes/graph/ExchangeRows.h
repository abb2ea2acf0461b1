// Spreads the experts of a model over ranks.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <compare>
#include <cstdint>

namespace dtc {

// How rows of experts go to the ranks that have these.
struct RowExchange {
  int64_t ranks = 1; // of expert parallelism, each with as many experts
  // Rows for which there is room, per 1,000 that a rank gets where all get as many; 0: all rows of
  // all ranks. Rows beyond it go in further rounds.
  int64_t roomPerMille = 0;

  // Returns the rows of a block, of one sample for one rank, in one round, where a sample has
  // `choices` in all.
  int64_t roomOfBlock(int64_t choices) const;

  auto operator<=>(const RowExchange &) const = default;
};

// Has the layers of experts of a model send the rows of each token to the ranks of its experts, and
// the results back: graph.pack_rows makes blocks for each rank, graph.exchange moves these, and
// graph.sort_rows orders what arrives by expert. The gradients follow from those of the ops.
//
// With room for all choices of a sample a block has all of its rows, so that rows of experts have
// `ranks` times the mean. With less room there are as many rounds as the most uneven routing needs,
// one behind the other: each packs, exchanges and multiplies the rows of blocks that are in its
// turn, and adds up its tokens. A round without rows computes nothing that is read.
//
// Example, 2 ranks, 8 experts, sequence * top = 256: rows 8x?x32x16 of pack_rows become blocks
// 2x?x256x16 and rows 8x?x64x16; with room for 1.25 times the mean two rounds of blocks 2x?x160x16
// and rows 8x?x40x16.
//
// Emits a diagnostic where the number of ranks does not divide that of the experts, or where an op
// has another idea of the shape of rows.
llvm::LogicalResult exchangeRows(mlir::ModuleOp model, const RowExchange &exchange);

} // namespace dtc

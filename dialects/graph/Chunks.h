// Which chunk of a pipeline each op of a micro-batch is part of.
#pragma once

#include "dialects/graph/Attributes.h"
#include "dialects/graph/Graph.h"

#include <optional>

namespace dtc::graph {

// Chunk and phase of an op (`graph.chunk`, `graph.phase`); an op has both or none once labels are
// complete.
struct ChunkLabel {
  int64_t chunk = 0;
  bool isBackward = false;
  auto operator<=>(const ChunkLabel &) const = default;
};

// The number of `graph.chunk`; nothing where an op has none.
std::optional<int64_t> getChunk(mlir::Operation *op);
void setChunk(mlir::Operation *op, int64_t chunk);

// Nothing where an op lacks one of the attributes.
std::optional<ChunkLabel> getChunkLabel(mlir::Operation *op);
void setChunkLabel(mlir::Operation *op, ChunkLabel label);
void eraseChunkLabel(mlir::Operation *op);

// Gives every op of `microbatch` a chunk and a phase. Forward is what sums that are no gradients, as
// the loss, and sends of forward ops depend on; backward the rest. An op without a chunk, as partitioning makes them
// between others, is where its operands are: forward at the last of them, backward at the first.
// What depends on no op with a chunk (constants, reads of parameters, what is made of inputs) is
// copied for each chunk that uses it, and without operands also for each phase.
//
// Does nothing where no op has a chunk.
void completeChunks(FuncOp microbatch);

} // namespace dtc::graph

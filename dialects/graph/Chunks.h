// The assignment of a micro-batch's ops to the chunks of a pipeline.
#pragma once

#include "dialects/graph/Attributes.h"
#include "dialects/graph/Graph.h"

#include <optional>

namespace dtc::graph {

// The chunk and phase of an op (`graph.chunk`, `graph.phase`); an op has both or neither once
// labels are complete.
struct ChunkLabel {
  int64_t chunk = 0;
  bool isBackward = false;
  auto operator<=>(const ChunkLabel &) const = default;
};

// Returns the number in `graph.chunk`; nullopt if the op has none.
std::optional<int64_t> getChunk(mlir::Operation *op);
// Sets `graph.chunk`.
void setChunk(mlir::Operation *op, int64_t chunk);

// Returns the chunk and phase; nullopt if the op lacks one of the attributes.
std::optional<ChunkLabel> getChunkLabel(mlir::Operation *op);
// Sets the chunk and the phase.
void setChunkLabel(mlir::Operation *op, ChunkLabel label);
// Removes the chunk and the phase.
void eraseChunkLabel(mlir::Operation *op);

// Gives every op of `microbatch` a chunk and a phase. Forward are the ops that sums other than
// gradients, such as the loss, and sends of forward ops depend on; all others are backward. An op
// without a chunk, such as one that partitioning inserted, joins its operands: in forward the last
// chunk of them, in backward the first. Ops that depend on no op with a chunk (constants, reads of
// parameters, ops on inputs) are copied for each chunk that uses them; those without operands also
// for each phase.
//
// Does nothing if no op has a chunk.
void completeChunks(FuncOp microbatch);

} // namespace dtc::graph

// Attributes of a step whose loss is computed in chunks of tokens.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// Attribute of the module: the chunks of a micro-batch's tokens for which the output layer, the
// loss and their gradients are computed one after another (i64); absent if it is 1.
inline constexpr llvm::StringLiteral kLossChunksAttr = "graph.loss_chunks";

// Attribute of an op of '@microbatch' that dtc-chunk-loss made: the chunk that it belongs to (i64).
// Such ops run in the forward pass, gradients too, and share no kernel with those of other chunks.
inline constexpr llvm::StringLiteral kLossChunkAttr = "graph.loss_chunk";

} // namespace dtc::graph

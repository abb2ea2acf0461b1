// Has ranks that share a sequence swap its parts for heads around attention.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Puts graph.exchange around each attention of a model, so that ranks of context parallelism, which
// have parts of the sequence, have all of it for a part of the heads within: from tokens, dim 1, to
// heads, dim 2, for queries, keys and values, and back for the result. The gradients follow from
// those of the ops. What attention reads is saved as it was exchanged.
//
// The heads are for `ranks`, those of context and tensor parallelism together. Where these do not
// divide the kv heads, each kv head is repeated as often as it takes, and the gradients of its
// copies add up. Emits a diagnostic where no number of copies is right.
//
// Example: 8 query heads and 2 kv heads for 4 ranks: each kv head is there twice, and a rank has
// one copy and 2 query heads.
//
// Source: Jacobs et al. 2023, arXiv:2309.14509 (DeepSpeed Ulysses).
llvm::LogicalResult exchangeHeads(mlir::ModuleOp model, int64_t ranks);

// Returns how often each kv head has to be there for as many ranks to have whole copies alike; 0 if
// no number of copies divides the query heads of a kv head.
int64_t copiesOfHeads(int64_t heads, int64_t kvHeads, int64_t ranks);

} // namespace dtc

// Properties of collectives that may be merged into buckets.
#pragma once

#include "dialects/exec/Exec.h"

#include <string>

namespace dtc {

// A collective and the copies that move with it.
struct BucketMember {
  exec::CollectiveOp collective;
  // copies out of its destination: those of a gather, and those that add a reduced gradient to a
  // sum
  llvm::SmallVector<exec::CopyOp> unpacks;
};

// True for a reduction of a gradient, or a gather of a parameter, that a bucket can take over.
bool isBucketMember(exec::CollectiveOp collective);

// True for an all_reduce over groups of ranks whose input a reduce_scatter within each group has
// made.
bool reducesScattered(exec::CollectiveOp collective);

// Returns the member for a collective for which isBucketMember holds.
BucketMember makeBucketMember(exec::CollectiveOp collective);

// Returns the key of a collective; those with equal keys may be merged. The key has the kind (which
// implies the role), the micro-batches in which it runs, the execution of its block, the reduction,
// the element type and the axes.
std::string getBucketKey(exec::CollectiveOp collective);

// Returns the bytes that a collective adds to a bucket.
int64_t getBucketBytes(exec::CollectiveOp collective);

// True if `buffer` is a whole temporary buffer: it can become a part of a bucket.
bool isWholeTemporary(mlir::Value buffer);

// Returns the number of ranks of a reduce_scatter or all_gather.
int64_t getNumRanks(exec::CollectiveOp collective);

// Returns the dim of a copy's box that goes over ranks, if the blocks of `count` elements per rank
// are contiguous on the side of `strides`; -1 if it cannot be told.
int getRankDim(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, int64_t ranks,
               int64_t count);

// Returns the copy that packs the source of a reduce_scatter and could pack it into a bucket
// instead; null if there is none.
exec::CopyOp getMovablePack(exec::CollectiveOp collective);

} // namespace dtc

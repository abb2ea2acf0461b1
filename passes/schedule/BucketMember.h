// A collective that may travel with others in one bucket.
#pragma once

#include "dialects/exec/Exec.h"

#include <string>

namespace dtc {

struct BucketMember {
  exec::CollectiveOp collective;
  // Copies out of its destination, which move with it: of a gather, and of a reduction that adds to a sum.
  llvm::SmallVector<exec::CopyOp> unpacks;
};

// A reduction of a gradient, or a gather of a parameter, that a bucket can take over.
bool isBucketMember(exec::CollectiveOp collective);

// An all_reduce over groups of ranks of what a reduce_scatter within each of them has made.
bool reducesScattered(exec::CollectiveOp collective);

BucketMember makeBucketMember(exec::CollectiveOp collective);

// Collectives of one key can be one: kind (which tells a member's role), in which micro-batches they
// run, the execution of a block that makes them, reduction, element type, axes.
std::string getBucketKey(exec::CollectiveOp collective);

// What a collective counts towards the size of a bucket.
int64_t getBucketBytes(exec::CollectiveOp collective);

// All of a buffer that the program makes and forgets: it can become a part of a bucket.
bool isWholeTemporary(mlir::Value buffer);

// Ranks that a reduce_scatter or all_gather is between.
int64_t getNumRanks(exec::CollectiveOp collective);

// The dim of a copy's box that goes over ranks, when blocks of `count` elements per rank are
// contiguous on the side of `strides`; -1 when it cannot be told.
int getRankDim(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, int64_t ranks,
               int64_t count);

// The copy that packs the source of a reduce_scatter and could as well pack it into a bucket; null
// where there is none.
exec::CopyOp getMovablePack(exec::CollectiveOp collective);

} // namespace dtc

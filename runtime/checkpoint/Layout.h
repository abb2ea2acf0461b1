// Which rank writes what of a checkpoint, and where in its file it lies.
#pragma once

#include "runtime/base/TensorSpec.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/format/RankMesh.h"

#include <string>
#include <vector>

namespace dtc::rt {

struct CheckpointSource {
  TensorSpec spec;
  bool isParameter = true;
  std::string copyOf; // as in CheckpointTensor
};

// A piece as its owner has it: a box of its local part.
struct OwnedPiece {
  size_t source = 0;           // index of the tensor
  uint64_t offset = 0;         // in the shard's file
  std::vector<uint64_t> local; // where the box begins in the local part
  std::vector<uint64_t> extent;
};

struct CheckpointLayout {
  std::vector<CheckpointTensor> tensors; // by name, with their pieces
  struct Shard {
    int rank = 0;                   // that writes it
    uint64_t bytes = 0;             // of the file
    std::string header;             // what the file begins with
    std::vector<OwnedPiece> pieces; // in order of offset
  };
  std::vector<Shard> shards; // by rank; none of a rank that owns nothing
};

// Every element of every tensor is owned by one rank: of those that hold the same part, the one that
// owns the fewest bytes so far, so that the ranks write about as much each. `sources` are those of
// all ranks, alike on all, as is the result.
// Example: of two parameters of one size that both of two ranks hold, each owns one.
Status layOut(const std::vector<CheckpointSource> &sources, const format::RankMesh &mesh,
              CheckpointLayout &layout);

} // namespace dtc::rt

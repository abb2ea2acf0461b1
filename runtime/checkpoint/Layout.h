// Assigns the pieces of a checkpoint to ranks and to offsets in their files.
#pragma once

#include "runtime/base/TensorSpec.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/format/RankMesh.h"

#include <string>
#include <vector>

namespace dtc::rt {

// A tensor of the run.
struct CheckpointSource {
  TensorSpec spec;
  bool isParameter = true;
  std::string copyOf; // see CheckpointTensor
};

// A piece as its owner has it: a box of the owner's local part.
struct OwnedPiece {
  size_t source = 0;           // index of the tensor
  uint64_t offset = 0;         // offset in the shard's file
  std::vector<uint64_t> local; // begin of the box in the local part
  std::vector<uint64_t> extent;
};

// The division of all tensors into shards.
struct CheckpointLayout {
  std::vector<CheckpointTensor> tensors; // by name, with their pieces
  // The file of one rank.
  struct Shard {
    int rank = 0;                   // the rank that writes it
    uint64_t bytes = 0;             // bytes of the file
    std::string header;             // the beginning of the file
    std::vector<OwnedPiece> pieces; // in order of offset
  };
  std::vector<Shard> shards; // in order of rank; none for a rank that owns nothing
};

// Gives every element of every tensor to one owner: of the ranks that hold the same part, the one
// that owns the fewest bytes so far, so that ranks write about equal amounts. `sources` are those
// of all ranks and equal on all, as is the result.
// Example: of two parameters of one size that both of two ranks hold, each owns one.
Status layOut(const std::vector<CheckpointSource> &sources, const format::RankMesh &mesh,
              CheckpointLayout &layout);

} // namespace dtc::rt

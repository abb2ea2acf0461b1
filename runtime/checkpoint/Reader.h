// Reads checkpoints of any plan and number of ranks.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/TensorSpec.h"
#include "runtime/checkpoint/Manifest.h"

#include <map>
#include <string>
#include <vector>

namespace dtc::rt {

class CheckpointReader {
public:
  // Of a folder step-N. Reads marker and manifest, and looks at the sizes of the shards. Errors say
  // what of the checkpoint is not good, with the file.
  Status open(const std::string &folder);

  const CheckpointManifest &manifest() const { return contents; }
  const std::string &folder() const { return path; }
  // The hash of the manifest.
  const std::string &identity() const { return hash; }

  // Copies what `boxes` are of a tensor to where they lie in a local part of `localShape`, whose
  // bytes `local` are; all else of it stays. Boxes are within the tensor, as those of shardBoxes().
  // Reads those blocks of those shards that have any of it, and checks their hashes: DataLoss names
  // file and bytes where they are not what was written.
  Status read(const CheckpointTensor &tensor, std::span<const ShardBox> boxes,
              std::span<const uint64_t> localShape, std::span<std::byte> local);

  // Reads and checks block `block` of a shard.
  Status readBlock(size_t shard, uint64_t block, std::vector<uint8_t> &bytes);

  uint64_t bytesRead() const { return readBytes; } // of shards, so far

private:
  Status checkSizes() const;
  // A shard, and the block of it that was read last: pieces of replicas lie in turn in several shards.
  struct OpenShard {
    InputFile file;
    uint64_t number = UINT64_MAX; // of the block; none
    std::vector<uint8_t> block;
  };
  Status openShard(size_t shard, OpenShard *&open);
  // Bytes [offset, offset + out.size()) of a shard, which has them.
  Status readRange(size_t shard, uint64_t offset, std::span<std::byte> out);

  std::string path, hash;
  CheckpointManifest contents;
  std::map<size_t, OpenShard> shards;
  uint64_t readBytes = 0;
};

// Checks all bytes of a checkpoint: hashes of all blocks, and that each shard is a safetensors file
// that says of its tensors what the manifest says. `problems` are in words, each with its file and
// bytes; none for a checkpoint that is good.
void verifyCheckpoint(const std::string &folder, CheckpointReader &reader,
                      std::vector<std::string> &problems);

} // namespace dtc::rt

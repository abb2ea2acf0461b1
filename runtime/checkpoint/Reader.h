// Reads checkpoints of any plan and number of ranks.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/TensorSpec.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/SignedDigests.h"

#include <map>
#include <string>
#include <vector>

namespace dtc::rt {

// Reads one checkpoint.
class CheckpointReader {
public:
  // Opens a folder step-N: reads marker and manifest, and checks the sizes of the shards. Errors
  // name the file and its fault. With `trusted`, one of these keys has to have signed the
  // checkpoint: what is read later is checked against what it signed, too.
  Status open(const std::string &folder, const TrustedKeys *trusted = nullptr);

  const CheckpointManifest &manifest() const { return contents; }
  const std::string &folder() const { return path; }
  // Returns the digest of the manifest; see digestOf().
  const std::string &manifestDigest() const { return digest; }
  // Returns the hash of the manifest.
  const std::string &identity() const { return hash; }

  // Copies `boxes` of a tensor to their places in a local part of `localShape` with bytes `local`;
  // the other bytes stay. Boxes are within the tensor, as those of shardBoxes(). Reads only the
  // blocks of shards that it needs, and checks their hashes: DataLoss names file and bytes if they
  // are not what was written.
  Status read(const CheckpointTensor &tensor, std::span<const ShardBox> boxes,
              std::span<const uint64_t> localShape, std::span<std::byte> local);

  // Reads and checks block `block` of a shard.
  Status readBlock(size_t shard, uint64_t block, std::vector<uint8_t> &bytes);

  uint64_t bytesRead() const { return readBytes; } // bytes of shards read so far

private:
  Status checkSizes() const;
  // A shard, and its block that was read last: pieces of replicas lie in turn in several shards.
  struct OpenShard {
    InputFile file;
    uint64_t number = UINT64_MAX; // number of the block; UINT64_MAX: none
    std::vector<uint8_t> block;
  };
  Status openShard(size_t shard, OpenShard *&open);
  // Reads bytes [offset, offset + out.size()) of a shard, which has them.
  Status readRange(size_t shard, uint64_t offset, std::span<std::byte> out);

  std::string path, hash, digest;
  CheckpointManifest contents;
  bool isSigned = false;
  SignedDigests digests; // if isSigned
  std::map<size_t, OpenShard> shards;
  uint64_t readBytes = 0;
};

} // namespace dtc::rt

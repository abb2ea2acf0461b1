// Ids in a file whose blocks have hashes.
#pragma once

#include "runtime/base/File.h"
#include "runtime/data/TokenArray.h"

#include <atomic>
#include <memory>
#include <vector>

namespace dtc::rt {

// Consecutive ids of a file. The first read of a block computes its CRC-32 (zlib's) and compares it
// with the one in the file of hashes, which has a u32 for each block, little endian.
class CheckedTokens final : public TokenSource {
public:
  // The files of a shard. `ids` and `blocks` are one file, opened twice; `hashes` has an entry for
  // each of its blocks, which have `blockBytes` bytes, the last one fewer.
  struct Files {
    InputFile ids, blocks, hashes;
    uint64_t blockBytes = 0;
  };
  CheckedTokens(Files files, std::string format, uint64_t count, TokenType type,
                uint64_t vocabulary);

  const std::string &name() const override { return tokens.name(); }
  uint64_t size() const override { return tokens.size(); }
  Status read(uint64_t begin, std::span<int32_t> out) const override;
  // Reads the .idx beside the ids, which is Megatron-LM's.
  Status documentEnds(std::vector<uint64_t> &ends) const override;

private:
  Status checkBlock(uint64_t block) const;

  InputFile blocks, hashes;
  uint64_t width, blockBytes;
  TokenArray tokens;
  // A flag for each block: 1 once it has been compared. Ranks read on several threads, and two of
  // them may compare one block.
  std::unique_ptr<std::atomic<uint8_t>[]> checked;
};

// Returns the CRC-32 of a whole file, as zlib computes it.
Status crcOfFile(const InputFile &file, uint32_t &crc);

} // namespace dtc::rt

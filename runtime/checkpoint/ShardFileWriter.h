// Writes a rank's shard while training goes on.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Background.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// Holds one copy of a rank's shard in the host's memory, and writes it from a thread.
// Example: std::span<std::byte> stage;
//   DTC_RETURN_IF_ERROR(writer.stage(bytes, stage)); ... fill it ...
//   writer.start("dir/shard-00000.safetensors"); ... train ...
//   if (writer.isDone()) status = writer.finish(hashes);
class ShardFileWriter {
public:
  ShardFileWriter() = default;
  ~ShardFileWriter();
  ShardFileWriter(const ShardFileWriter &) = delete;
  ShardFileWriter &operator=(const ShardFileWriter &) = delete;

  // Returns memory for a file of `bytes`, reused for the next file of that size. ResourceExhausted
  // if there is none.
  Status stage(size_t bytes, std::span<std::byte> &memory);
  // Begins to write the memory to a durable file. The memory may not change until finish(). With
  // `isSigned`, hashes have the digest of a block behind its hash; see digestOf().
  void start(const std::string &path, bool isSigned = false);
  // Returns true if the file is complete, or failed, or none was started.
  bool isDone() const { return background.isDone(); }
  // Waits at most `seconds` until isDone(), and returns that.
  bool waitFor(double seconds) { return background.waitFor(seconds); }
  // Returns the error of a file that is done, or ok and the hashes of its blocks.
  Status finish(std::vector<std::string> &hashes);

private:
  Status write(const std::string &path, bool isSigned);

  std::byte *memory = nullptr;
  size_t reserved = 0, used = 0;
  std::vector<std::string> blockHashes;
  Background background;
};

} // namespace dtc::rt

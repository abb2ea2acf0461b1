// Writes a rank's shard while training goes on.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Background.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// One copy of what a rank owns, in the host's memory, and a thread that writes it.
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

  // Memory for a file of `bytes`, which is kept for the next one of that size. ResourceExhausted
  // where there is none.
  Status stage(size_t bytes, std::span<std::byte> &memory);
  // Begins to write it, durably. What was staged may not change until finish().
  void start(const std::string &path);
  // Whether the file is there for good, or cannot be; also where nothing was started.
  bool isDone() const { return background.isDone(); }
  // Waits for that, at most so long.
  bool waitFor(double seconds) { return background.waitFor(seconds); }
  // Of a file that is done: its error, or the hashes of its blocks.
  Status finish(std::vector<std::string> &hashes);

private:
  Status write(const std::string &path);

  std::byte *memory = nullptr;
  size_t reserved = 0, used = 0;
  std::vector<std::string> blockHashes;
  Background background;
};

} // namespace dtc::rt

#include "runtime/checkpoint/ShardFileWriter.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/trust/Digest.h"

#include <algorithm>
#include <sys/mman.h>
#include <utility>

namespace dtc::rt {
using format::text;

ShardFileWriter::~ShardFileWriter() {
  (void)background.finish().ok();
  if (memory)
    ::munmap(memory, reserved);
}

Status ShardFileWriter::stage(size_t bytes, std::span<std::byte> &wanted) {
  if (bytes > reserved) {
    if (memory)
      ::munmap(memory, reserved);
    memory = nullptr;
    reserved = 0;
    // The memory is populated, so that the first copy takes no longer than others.
    void *fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (fresh == MAP_FAILED)
      return Status::resourceExhausted(
          text("staging a checkpoint: there are no ", bytes, " bytes of memory"));
    memory = static_cast<std::byte *>(fresh);
    reserved = bytes;
  }
  used = bytes;
  wanted = {memory, used};
  return {};
}

Status ShardFileWriter::write(const std::string &path, bool isSigned) {
  AtomicFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  DTC_RETURN_IF_ERROR(file.reserve(used));
  blockHashes.clear();
  for (size_t at = 0; at < used; at += kCheckpointBlock) {
    std::span<const std::byte> block(memory + at, std::min<size_t>(used - at, kCheckpointBlock));
    blockHashes.push_back(isSigned ? hashOf(block) + digestOf(block) : hashOf(block));
    DTC_RETURN_IF_ERROR(file.write(block.data(), block.size()));
  }
  return file.commit();
}

void ShardFileWriter::start(const std::string &path, bool isSigned) {
  background.start([this, path, isSigned] { return write(path, isSigned); });
}

Status ShardFileWriter::finish(std::vector<std::string> &hashes) {
  Status status = background.finish();
  hashes = std::move(blockHashes);
  blockHashes.clear();
  return status;
}

} // namespace dtc::rt

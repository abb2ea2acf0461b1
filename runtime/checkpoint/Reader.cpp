#include "runtime/checkpoint/Reader.h"

#include "runtime/checkpoint/ManifestRead.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/trust/Digest.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace dtc::rt {
using format::text;

// The most shards open at once, each with a block: a process may not open as many files as a job
// has ranks.
constexpr size_t kMostFiles = 64;
constexpr uint64_t kMostMarkerBytes = 4096, kMostManifestBytes = uint64_t(1) << 28;

Status CheckpointReader::open(const std::string &wanted, const TrustedKeys *trusted) {
  *this = CheckpointReader();
  path = wanted;
  std::string marker, manifest, markerPath = text(path, "/", kMarkerFile),
                                manifestPath = text(path, "/", kManifestFile);
  struct stat info;
  if (::stat(markerPath.c_str(), &info) != 0 && errno == ENOENT)
    return Status::dataLoss(
        text("'", markerPath, "' is not there: the checkpoint was not written to its end"));
  DTC_RETURN_IF_ERROR(readWhole(markerPath, kMostMarkerBytes, marker));
  DTC_RETURN_IF_ERROR(readWhole(manifestPath, kMostManifestBytes, manifest));
  hash = hashOf(std::as_bytes(std::span(manifest)));
  digest = digestOf(std::as_bytes(std::span(manifest)));
  if (marker != markerOf(manifest))
    return Status::dataLoss(text("'", markerPath, "' is not of '", manifestPath,
                                 "', whose hash is ", hash, ": one of them is damaged"));
  if (trusted)
    DTC_RETURN_IF_ERROR(readSignedDigests(path, *trusted, digest, digests));
  isSigned = trusted != nullptr;
  DTC_RETURN_IF_ERROR(parseManifest(manifestPath, manifest, contents));
  if (isSigned)
    DTC_RETURN_IF_ERROR(checkDigestsFit(path, digests, contents.shards));
  return checkSizes();
}

Status CheckpointReader::checkSizes() const {
  for (size_t i = 0; i < contents.shards.size(); ++i) {
    std::string file = text(path, "/", shardFile(i));
    struct stat info;
    if (::stat(file.c_str(), &info) != 0)
      return Status::dataLoss(text("'", file, "': ", std::strerror(errno)));
    if (static_cast<uint64_t>(info.st_size) != contents.shards[i].bytes)
      return Status::dataLoss(
          text("'", file, "' has ", info.st_size, " bytes, wanted ", contents.shards[i].bytes));
  }
  return {};
}

Status CheckpointReader::openShard(size_t shard, OpenShard *&open) {
  auto known = shards.find(shard);
  if (known == shards.end()) {
    if (shards.size() >= kMostFiles)
      shards.clear();
    OpenShard opened;
    DTC_RETURN_IF_ERROR(opened.file.open(text(path, "/", shardFile(shard))));
    if (opened.file.size() != contents.shards[shard].bytes)
      return Status::dataLoss(text("'", opened.file.path(), "' has ", opened.file.size(),
                                   " bytes, wanted ", contents.shards[shard].bytes));
    known = shards.emplace(shard, std::move(opened)).first;
  }
  open = &known->second;
  return {};
}

Status CheckpointReader::readBlock(size_t shard, uint64_t number, std::vector<uint8_t> &bytes) {
  OpenShard *open = nullptr;
  DTC_RETURN_IF_ERROR(openShard(shard, open));
  uint64_t begin = number * kCheckpointBlock;
  bytes.resize(std::min(kCheckpointBlock, contents.shards[shard].bytes - begin));
  DTC_RETURN_IF_ERROR(open->file.read(begin, bytes));
  readBytes += bytes.size();
  std::span<const std::byte> block = std::as_bytes(std::span(bytes));
  auto refuse = [&](const char *done) {
    return Status::dataLoss(text("'", open->file.path(), "': bytes ", begin, " to ",
                                 begin + bytes.size() - 1, " are not what was ", done,
                                 " (their hash is another)"));
  };
  if (hashOf(block) != contents.shards[shard].hashes[number])
    return refuse("written");
  if (isSigned && digestOf(block) != digests.shards[shard][number])
    return refuse("signed");
  return {};
}

Status CheckpointReader::readRange(size_t shard, uint64_t offset, std::span<std::byte> out) {
  OpenShard *open = nullptr;
  DTC_RETURN_IF_ERROR(openShard(shard, open));
  while (!out.empty()) {
    uint64_t number = offset / kCheckpointBlock, within = offset % kCheckpointBlock;
    if (number != open->number) {
      open->number = UINT64_MAX; // none, if reading fails
      DTC_RETURN_IF_ERROR(readBlock(shard, number, open->block));
      open->number = number;
    }
    size_t now = std::min<size_t>(out.size(), open->block.size() - within);
    std::memcpy(out.data(), open->block.data() + within, now);
    out = out.subspan(now);
    offset += now;
  }
  return {};
}

static std::vector<uint64_t> minus(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  std::vector<uint64_t> result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back(a[i] - b[i]);
  return result;
}

Status CheckpointReader::read(const CheckpointTensor &tensor, std::span<const ShardBox> boxes,
                              std::span<const uint64_t> localShape, std::span<std::byte> local) {
  uint64_t width = tensor.width();
  for (const ShardBox &box : boxes)
    for (const CheckpointPiece &piece : tensor.pieces) {
      Box both;
      if (!intersect({box.begin, box.extent}, piece.box, both))
        continue;
      BoxInArray from{piece.box.extent, minus(both.begin, piece.box.begin)};
      BoxInArray to{localShape, minus(both.begin, box.begin)};
      for (size_t dim = 0; dim < to.at.size(); ++dim)
        to.at[dim] += box.local[dim];
      Status status;
      forEachRun(both.extent, from, to, [&](uint64_t source, uint64_t target, uint64_t length) {
        if (status.ok())
          status = readRange(piece.shard, piece.offset + source * width,
                             local.subspan(target * width, length * width));
      });
      DTC_RETURN_IF_ERROR(status);
    }
  return {};
}

} // namespace dtc::rt

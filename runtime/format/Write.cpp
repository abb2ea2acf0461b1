#include "runtime/format/Write.h"

#include "runtime/format/Header.h"
#include "runtime/format/Text.h"
#include "runtime/format/Verify.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc::format {
namespace {

uint64_t alignUp(uint64_t offset) {
  return (offset + segmentAlignment - 1) / segmentAlignment * segmentAlignment;
}

// Segment offsets are written as fixed-width fields even where they are 0, so that the manifest's
// size does not depend on them: it is packed once to learn its size and once with the offsets that
// follow from that.
flatbuffers::FlatBufferBuilder pack(const ManifestT &manifest) {
  flatbuffers::FlatBufferBuilder builder(64 * 1024);
  builder.ForceDefaults(true);
  FinishManifestBuffer(builder, CreateManifest(builder, &manifest));
  return builder;
}

void placeSegments(ManifestT &manifest, std::span<const SegmentBytes> segments, uint64_t offset) {
  for (size_t i = 0; i < segments.size(); ++i) {
    offset = alignUp(offset);
    manifest.segments[i]->offset = offset;
    offset += segments[i].bytes.size();
  }
}

rt::Status systemError(const std::string &what, const std::string &path) {
  return rt::Status::unavailable(text(what, " '", path, "': ", std::strerror(errno)));
}

// Writes all of `bytes` to a new file and syncs it; closes `descriptor` in any case.
rt::Status fillFile(int descriptor, const std::string &path, std::span<const uint8_t> bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    ssize_t now = ::write(descriptor, bytes.data() + written, bytes.size() - written);
    if (now < 0 && errno == EINTR)
      continue;
    if (now <= 0) {
      rt::Status status = systemError("writing", path);
      ::close(descriptor);
      return status;
    }
    written += static_cast<size_t>(now);
  }
  if (::fsync(descriptor) != 0) {
    rt::Status status = systemError("syncing", path);
    ::close(descriptor);
    return status;
  }
  if (::close(descriptor) != 0)
    return systemError("closing", path);
  return {};
}

} // namespace

std::vector<uint8_t> writeUnchecked(ManifestT &manifest, std::span<const SegmentBytes> segments) {
  manifest.format_version = formatVersion;
  manifest.segments.clear();
  for (const SegmentBytes &segment : segments) {
    auto entry = std::make_unique<SegmentT>();
    Hash128 hash = hash128(segment.bytes);
    entry->kind = segment.kind;
    entry->bytes = segment.bytes.size();
    entry->xxh3_low = hash.low;
    entry->xxh3_high = hash.high;
    manifest.segments.push_back(std::move(entry));
  }
  uint64_t manifestBytes = pack(manifest).GetSize();
  placeSegments(manifest, segments, headerBytes + manifestBytes);
  flatbuffers::FlatBufferBuilder builder = pack(manifest);

  Header header;
  header.manifestBytes = manifestBytes;
  header.fileBytes = headerBytes + manifestBytes;
  if (!segments.empty())
    header.fileBytes = manifest.segments.back()->offset + manifest.segments.back()->bytes;
  std::vector<uint8_t> file(header.fileBytes);
  header.manifestHash = hash128({builder.GetBufferPointer(), builder.GetSize()});
  writeHeader(header, std::span<uint8_t, headerBytes>(file.data(), headerBytes));
  std::memcpy(file.data() + headerBytes, builder.GetBufferPointer(), builder.GetSize());
  for (size_t i = 0; i < segments.size(); ++i)
    if (!segments[i].bytes.empty())
      std::memcpy(file.data() + manifest.segments[i]->offset, segments[i].bytes.data(),
                  segments[i].bytes.size());
  return file;
}

rt::Status writeExecutable(ManifestT &manifest, std::span<const SegmentBytes> segments,
                           std::vector<uint8_t> &file) {
  file = writeUnchecked(manifest, segments);
  const Manifest *checked = nullptr;
  return verifyExecutable(file, "the executable", checked);
}

rt::Status writeFileAtomically(const std::string &path, std::span<const uint8_t> bytes) {
  std::string temporary = text(path, ".tmp.", static_cast<long>(::getpid()));
  int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemError("creating", temporary);
  rt::Status status = fillFile(descriptor, temporary, bytes);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    status = systemError("renaming the finished file to", path);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  // The rename itself lasts only when the folder is synced; where folders cannot be synced there is
  // nothing to do.
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); handle >= 0) {
    (void)::fsync(handle);
    ::close(handle);
  }
  return {};
}

} // namespace dtc::format

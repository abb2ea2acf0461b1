#include "runtime/format/Write.h"

#include "runtime/format/Header.h"
#include "runtime/format/Verify.h"

#include <cstring>

namespace dtc::format {
namespace {

uint64_t alignUp(uint64_t offset) {
  return (offset + segmentAlignment - 1) / segmentAlignment * segmentAlignment;
}

// Segment offsets are written as fixed-width fields even if they are 0, so that the manifest's size
// does not depend on them: it is packed once to learn its size and once with the offsets that
// follow.
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

} // namespace dtc::format

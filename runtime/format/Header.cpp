#include "runtime/format/Header.h"

#include "runtime/base/Text.h"

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::format {
namespace {

static_assert(std::endian::native == std::endian::little,
              "fields are stored as they lie in memory");

constexpr char magic[8] = {'D', 'T', 'E', 'X', '\r', '\n', 0x1a, '\n'};

template <typename T> T readAt(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T> void writeAt(std::span<uint8_t> bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

} // namespace

Hash128 hash128(std::span<const uint8_t> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

void writeHeader(const Header &header, std::span<uint8_t, headerBytes> bytes) {
  std::memcpy(bytes.data(), magic, sizeof(magic));
  writeAt<uint32_t>(bytes, 8, formatVersion);
  writeAt<uint32_t>(bytes, 12, 0);
  writeAt(bytes, 16, header.fileBytes);
  writeAt(bytes, 24, header.manifestOffset);
  writeAt(bytes, 32, header.manifestBytes);
  writeAt(bytes, 40, header.manifestHash.low);
  writeAt(bytes, 48, header.manifestHash.high);
  writeAt<uint64_t>(bytes, 56, XXH3_64bits(bytes.data(), 56));
}

rt::Status readHeader(std::span<const uint8_t> file, uint64_t fileBytes, std::string_view fileName,
                      Header &header) {
  if (file.size() < headerBytes)
    return rt::Status::dataLoss(text(fileName, ": the file has ", fileBytes,
                                     " bytes, wanted at least the ", headerBytes,
                                     " of a .dte header; recompile with dtc"));
  if (std::memcmp(file.data(), magic, sizeof(magic)) != 0)
    return rt::Status::invalidArgument(
        text(fileName, ": the first 8 bytes are not those of a .dte file; give the file that "
                       "'dtc compile -o' wrote"));
  uint32_t version = readAt<uint32_t>(file, 8);
  if (version != formatVersion)
    return rt::Status::invalidArgument(text(fileName, ": format version is ", version,
                                            ", this program reads version ", formatVersion,
                                            "; recompile with the dtc of this release"));
  if (readAt<uint64_t>(file, 56) != XXH3_64bits(file.data(), 56))
    return rt::Status::dataLoss(text(fileName, ": the header does not match its hash, the file is "
                                               "damaged; recompile with dtc"));
  if (uint32_t flags = readAt<uint32_t>(file, 12))
    return rt::Status::invalidArgument(
        text(fileName, ": header flags are ", flags, ", wanted 0; recompile with dtc"));
  header.fileBytes = readAt<uint64_t>(file, 16);
  header.manifestOffset = readAt<uint64_t>(file, 24);
  header.manifestBytes = readAt<uint64_t>(file, 32);
  header.manifestHash = {readAt<uint64_t>(file, 40), readAt<uint64_t>(file, 48)};
  if (header.fileBytes != fileBytes)
    return rt::Status::dataLoss(text(fileName, ": the file has ", fileBytes,
                                     " bytes, its header says ", header.fileBytes,
                                     "; the file was cut or extended, recompile with dtc"));
  if (header.manifestOffset != headerBytes)
    return rt::Status::dataLoss(text(fileName, ": the manifest starts at byte ",
                                     header.manifestOffset, ", wanted ", headerBytes,
                                     "; recompile with dtc"));
  if (header.manifestBytes > fileBytes - headerBytes)
    return rt::Status::dataLoss(text(fileName, ": the manifest has ", header.manifestBytes,
                                     " bytes, the file has ", fileBytes - headerBytes,
                                     " after its header; recompile with dtc"));
  return {};
}

rt::Status readHeader(std::span<const uint8_t> file, std::string_view fileName, Header &header) {
  return readHeader(file, file.size(), fileName, header);
}

} // namespace dtc::format

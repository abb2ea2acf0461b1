// The 64 bytes at the start of a .dte file.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dtc::format {

inline constexpr size_t headerBytes = 64;
inline constexpr size_t segmentAlignment = 4096;
// Version 5 had no epilogues of matrix products, and no gaps between tokens of attention.
inline constexpr uint32_t formatVersion = 7;

// The two halves of an XXH3-128 hash.
struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash128 &) const = default;
};

// The header. Layout, little endian: 0 magic "DTEX\r\n\x1a\n"; 8 u32 version; 12 u32 flags, 0; 16
// u64 file bytes; 24 u64 offset of the manifest; 32 u64 bytes of the manifest; 40 and 48 u64
// XXH3-128 of the manifest, low and high; 56 u64 XXH3-64 of bytes 0 to 55.
struct Header {
  uint64_t fileBytes = 0;
  uint64_t manifestOffset = headerBytes;
  uint64_t manifestBytes = 0;
  Hash128 manifestHash;
};

// Returns the XXH3-128 hash of bytes.
Hash128 hash128(std::span<const uint8_t> bytes);

// Writes the 64 bytes of a header, its own hash included.
void writeHeader(const Header &header, std::span<uint8_t, headerBytes> bytes);

// Reads and checks the header of a file that is wholly in memory: magic, version, its own hash, and
// that the sizes are those of `file`. DataLoss or InvalidArgument, naming `fileName` and the field.
rt::Status readHeader(std::span<const uint8_t> file, std::string_view fileName, Header &header);
// The same for a file of `fileBytes` bytes whose beginning is `front`.
rt::Status readHeader(std::span<const uint8_t> front, uint64_t fileBytes, std::string_view fileName,
                      Header &header);

} // namespace dtc::format

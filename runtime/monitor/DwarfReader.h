// Reads what DWARF writes: numbers of given and of variable length, pointers, blocks.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace dtc::rt {

// Bytes of the process, from `at` on. Once `failed`, all that it gives is 0.
class DwarfReader {
public:
  DwarfReader(std::span<const uint8_t> bytes, uint64_t at) : rest(bytes), at(at) {}
  // Returns true if no byte is left.
  bool isAtEnd() const { return rest.empty(); }
  uint64_t address() const { return at; }
  // Reads an unsigned little-endian number of `bytes` bytes.
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    if (rest.size() < bytes) {
      fail();
      return 0;
    }
    std::memcpy(&value, rest.data(), bytes);
    skip(bytes);
    return value;
  }
  // Reads a signed little-endian number of `bytes` bytes.
  int64_t signedNumber(size_t bytes) {
    uint64_t value = number(bytes);
    size_t shift = 64 - 8 * bytes;
    return static_cast<int64_t>(value << shift) >> shift;
  }
  // Reads a LEB128 number.
  uint64_t leb(bool isSigned = false) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      uint64_t byte = number(1);
      value |= (byte & 0x7f) << shift;
      if (byte & 0x80)
        continue;
      if (isSigned && (byte & 0x40) && shift < 57)
        value |= ~uint64_t(0) << (shift + 7);
      return value;
    }
    fail();
    return 0;
  }
  // Reads a signed LEB128 number.
  int64_t signedLeb() { return static_cast<int64_t>(leb(true)); }
  // Reads a pointer in an encoding DW_EH_PE_*; 0 if x86-64 does not use the encoding.
  uint64_t pointer(uint8_t encoding, uint64_t data = 0) {
    uint64_t base = at;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = number(8);
      break;
    case 0x03:
      value = number(4);
      break;
    case 0x0b:
      value = static_cast<uint64_t>(signedNumber(4));
      break;
    default:
      fail();
    }
    bool isKnown = (encoding & 0x70) == 0 || (encoding & 0x70) == 0x10 || (encoding & 0x70) == 0x30;
    failed = failed || !isKnown;
    return value + ((encoding & 0x70) == 0x10 ? base : (encoding & 0x70) == 0x30 ? data : 0);
  }
  // Reads `bytes` bytes.
  std::span<const uint8_t> block(uint64_t bytes) {
    if (bytes > rest.size()) {
      fail();
      return {};
    }
    std::span<const uint8_t> out = rest.first(bytes);
    skip(bytes);
    return out;
  }
  bool failed = false;

private:
  void skip(size_t bytes) {
    rest = rest.subspan(bytes);
    at += bytes;
  }
  void fail() {
    failed = true;
    rest = {};
  }
  std::span<const uint8_t> rest;
  uint64_t at;
};

} // namespace dtc::rt

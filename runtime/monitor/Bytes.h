// Numbers and text as bytes, for what processes tell each other, and back with every size checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// Appends numbers and strings to a byte buffer.
class ByteWriter {
public:
  // Appends 8 bytes.
  void number(uint64_t value) {
    for (int i = 0; i < 8; ++i)
      out.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  // Appends 4 bytes.
  void small(uint32_t value) {
    for (int i = 0; i < 4; ++i)
      out.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  // Appends a string, with its length before it.
  void words(const std::string &text) {
    small(static_cast<uint32_t>(text.size()));
    out.insert(out.end(), text.begin(), text.end());
  }
  std::vector<uint8_t> out;
};

// Once `failed`, all that it gives is 0 or empty.
class ByteReader {
public:
  explicit ByteReader(std::span<const uint8_t> bytes) : rest(bytes) {}
  // Reads 8 bytes.
  uint64_t number() {
    return static_cast<uint64_t>(small()) | static_cast<uint64_t>(small()) << 32;
  }
  // Reads 4 bytes.
  uint32_t small() {
    uint32_t value = 0;
    if (rest.size() < 4) {
      failed = true;
      rest = {};
      return 0;
    }
    for (size_t i = 0; i < 4; ++i)
      value |= static_cast<uint32_t>(rest[i]) << (8 * i);
    rest = rest.subspan(4);
    return value;
  }
  // Reads a string, with its length before it.
  std::string words() {
    uint32_t size = small();
    if (size > rest.size()) {
      failed = true;
      return {};
    }
    std::string text(reinterpret_cast<const char *>(rest.data()), size);
    rest = rest.subspan(size);
    return text;
  }
  // A number of things, each of which takes at least `bytes`.
  size_t count(size_t bytes) {
    uint32_t value = small();
    if (value > rest.size() / bytes) {
      failed = true;
      return 0;
    }
    return value;
  }
  bool failed = false;
  std::span<const uint8_t> rest;
};

} // namespace dtc::rt

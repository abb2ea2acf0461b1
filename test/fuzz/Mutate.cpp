#include "test/fuzz/Mutate.h"

#include "runtime/format/Header.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

namespace dtc::fuzz {
namespace {

// Values at which errors in sizes, indices and signs are likely.
constexpr uint64_t interesting[] = {0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    16,
                                    64,
                                    127,
                                    128,
                                    255,
                                    256,
                                    65535,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x100000000,
                                    0x7fc00000, // NaN as f32
                                    0x7f800000, // infinity as f32
                                    0xbf800000, // -1 as f32
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff,
                                    0x7ff8000000000000, // NaN as f64
                                    uint64_t(1) << 40,
                                    uint64_t(1) << 48};

void changeByte(std::span<uint8_t> bytes, Random &random) {
  uint8_t &byte = bytes[random.below(bytes.size())];
  if (random.below(2))
    byte ^= static_cast<uint8_t>(1u << random.below(8));
  else
    byte = static_cast<uint8_t>(random.next());
}

// Changes an aligned field of 1, 2, 4 or 8 bytes: to an interesting value, by a small amount, or to
// the contents of another field.
void changeField(std::span<uint8_t> bytes, Random &random) {
  size_t width = size_t(1) << random.below(4);
  if (bytes.size() < width)
    return;
  size_t positions = bytes.size() / width;
  uint8_t *field = bytes.data() + random.below(positions) * width;
  uint64_t value = 0;
  switch (random.below(3)) {
  case 0:
    value = interesting[random.below(std::size(interesting))];
    break;
  case 1:
    std::memcpy(&value, field, width);
    value += random.below(17) - 8;
    break;
  default:
    std::memcpy(&value, bytes.data() + random.below(positions) * width, width);
  }
  std::memcpy(field, &value, width);
}

void copyRange(std::span<uint8_t> bytes, Random &random) {
  size_t count = 1 + random.below(std::min<size_t>(bytes.size(), 64));
  size_t from = random.below(bytes.size() - count + 1), to = random.below(bytes.size() - count + 1);
  std::memmove(bytes.data() + to, bytes.data() + from, count);
}

void changeLength(std::vector<uint8_t> &file, Random &random) {
  size_t at = random.below(file.size() + 1);
  auto position = file.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.below(3)) {
  case 0:
    file.erase(position, file.end());
    break;
  case 1:
    file.insert(position, 1 + random.below(64), static_cast<uint8_t>(random.next()));
    break;
  default: {
    size_t count = std::min<size_t>(random.below(64), file.size() - at);
    file.erase(position, position + static_cast<std::ptrdiff_t>(count));
  }
  }
}

} // namespace

Random::Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019) {
  if (state == 0)
    state = 1;
  for (int i = 0; i < 4; ++i)
    next();
}

uint64_t Random::next() {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

std::vector<uint8_t> mutateRaw(const std::vector<uint8_t> &file, Random &random) {
  std::vector<uint8_t> out = file;
  for (uint64_t changes = 1 + random.below(4); changes > 0 && !out.empty(); --changes) {
    // Half of the changes go to the first bytes: the header, and the part of the manifest that is
    // read first.
    std::span<uint8_t> all(out);
    std::span<uint8_t> part = random.below(2) ? all.first(std::min<size_t>(out.size(), 256)) : all;
    switch (random.below(4)) {
    case 0:
      changeByte(part, random);
      break;
    case 1:
      changeField(part, random);
      break;
    case 2:
      copyRange(part, random);
      break;
    default:
      changeLength(out, random);
    }
  }
  return out;
}

std::vector<uint8_t> mutateSigned(const std::vector<uint8_t> &file, Random &random) {
  std::vector<uint8_t> out = file;
  format::Header header;
  if (!format::readHeader(file, "", header).ok())
    return out;
  std::span<uint8_t> manifest =
      std::span<uint8_t>(out).subspan(header.manifestOffset, header.manifestBytes);
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
    switch (random.below(8)) {
    case 0:
      changeByte(manifest, random);
      break;
    case 1:
      copyRange(manifest, random);
      break;
    default:
      changeField(manifest, random);
    }
  header.manifestHash = format::hash128(manifest);
  format::writeHeader(header,
                      std::span<uint8_t, format::headerBytes>(out.data(), format::headerBytes));
  return out;
}

} // namespace dtc::fuzz

#include "runtime/metrics/EventRecord.h"

#include <array>
#include <bit>

namespace dtc::rt {
namespace {

constexpr std::array<uint32_t, 256> makeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> crcTable = makeCrcTable();

// Returns the CRC as TFRecord stores it, since a CRC of bytes that contain CRCs says little.
uint32_t maskedCrc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

template <typename T> void putFixed(std::string &out, T value) {
  for (size_t i = 0; i < sizeof(value); ++i)
    out += static_cast<char>(value >> (8 * i) & 0xff);
}

void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

// Protobuf's fields: a number, and how the value is written.
enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
void putTag(std::string &out, uint64_t field, Wire wire) { putVarint(out, field << 3 | wire); }
void putBytes(std::string &out, uint64_t field, std::string_view bytes) {
  putTag(out, field, kBytes);
  putVarint(out, bytes.size());
  out += bytes;
}

// Begins an Event: 1 wall_time, 2 step, 3 file_version, 5 summary.
std::string beginEvent(double wallTime) {
  std::string event;
  putTag(event, 1, kFixed64);
  putFixed(event, std::bit_cast<uint64_t>(wallTime));
  return event;
}

// Returns a frame: u64 length, its CRC, the bytes, their CRC.
std::string frame(std::string_view event) {
  std::string out;
  putFixed<uint64_t>(out, event.size());
  putFixed(out, maskedCrc(std::string_view(out)));
  out += event;
  putFixed(out, maskedCrc(event));
  return out;
}

} // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t(0);
  for (char byte : bytes)
    crc = crc >> 8 ^ crcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::string versionRecord(double wallTime) {
  std::string event = beginEvent(wallTime);
  putBytes(event, 3, "brain.Event:2");
  return frame(event);
}

// Summary: 1 value, each with 1 tag, 2 simple_value.
std::string scalarsRecord(double wallTime, int64_t step, const std::vector<Scalar> &scalars) {
  std::string summary;
  for (const Scalar &scalar : scalars) {
    std::string value;
    putBytes(value, 1, scalar.tag);
    putTag(value, 2, kFixed32);
    putFixed(value, std::bit_cast<uint32_t>(scalar.value));
    putBytes(summary, 1, value);
  }
  std::string event = beginEvent(wallTime);
  putTag(event, 2, kVarint);
  putVarint(event, static_cast<uint64_t>(step));
  putBytes(event, 5, summary);
  return frame(event);
}

} // namespace dtc::rt

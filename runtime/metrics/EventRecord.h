// Records of TensorBoard's event files: TFRecord frames around protobuf messages of type Event (tensorflow/core/util/event.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

struct Scalar {
  std::string tag; // "train/loss"
  float value = 0;
};

// CRC-32C (Castagnoli): of "123456789" 0xE3069283.
uint32_t crc32c(std::string_view bytes);

// The first record of a file, which says what version it is of.
std::string versionRecord(double wallTime);
// Scalars of one step; `wallTime` in seconds since 1970.
std::string scalarsRecord(double wallTime, int64_t step, const std::vector<Scalar> &scalars);

} // namespace dtc::rt

// Records of TensorBoard's event files: TFRecord frames around protobuf messages of type Event
// (tensorflow/core/util/event.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// One value of a step.
struct Scalar {
  std::string tag; // "train/loss"
  float value = 0;
};

// Returns the CRC-32C (Castagnoli). Example: "123456789" has 0xE3069283.
uint32_t crc32c(std::string_view bytes);

// Returns the first record of a file, which states its version.
std::string versionRecord(double wallTime);
// Returns a record of the scalars of one step; `wallTime` in seconds since 1970.
std::string scalarsRecord(double wallTime, int64_t step, const std::vector<Scalar> &scalars);

} // namespace dtc::rt

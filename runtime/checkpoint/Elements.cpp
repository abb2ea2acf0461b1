#include "runtime/checkpoint/Elements.h"

#include "runtime/base/HalfFloats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace dtc::rt {
namespace {

template <typename Int> Int integer(float value) {
  using Limits = std::numeric_limits<Int>;
  if (std::isnan(value))
    return 0;
  auto wide = static_cast<double>(value);
  if (wide >= static_cast<double>(Limits::max()))
    return Limits::max();
  return wide <= static_cast<double>(Limits::min()) ? Limits::min() : static_cast<Int>(wide);
}

template <typename To>
std::vector<std::byte> encodeBy(To (*convert)(float), std::span<const float> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(To));
  for (size_t i = 0; i < values.size(); ++i) {
    To element = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &element, sizeof(To));
  }
  return bytes;
}

template <typename From>
void decodeBy(float (*convert)(From), std::span<const std::byte> bytes, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    From element;
    std::memcpy(&element, bytes.data() + i * sizeof(From), sizeof(From));
    values[i] = convert(element);
  }
}

template <typename Int> float fromInteger(Int value) { return static_cast<float>(value); }

} // namespace

std::vector<std::byte> encode(format::DType type, std::span<const float> values) {
  switch (type) {
  case format::DType::f32:
    return {std::as_bytes(values).begin(), std::as_bytes(values).end()};
  case format::DType::bf16:
    return encodeBy<uint16_t>(toBf16, values);
  case format::DType::f16:
    return encodeBy<uint16_t>(toF16, values);
  case format::DType::i32:
    return encodeBy<int32_t>(integer<int32_t>, values);
  case format::DType::i64:
    return encodeBy<int64_t>(integer<int64_t>, values);
  case format::DType::u8:
    return encodeBy<uint8_t>(integer<uint8_t>, values);
  }
  return {};
}

void decode(format::DType type, std::span<const std::byte> bytes, std::span<float> values) {
  switch (type) {
  case format::DType::f32:
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(values).begin());
    return;
  case format::DType::bf16:
    return decodeBy<uint16_t>(fromBf16, bytes, values);
  case format::DType::f16:
    return decodeBy<uint16_t>(fromF16, bytes, values);
  case format::DType::i32:
    return decodeBy<int32_t>(fromInteger<int32_t>, bytes, values);
  case format::DType::i64:
    return decodeBy<int64_t>(fromInteger<int64_t>, bytes, values);
  case format::DType::u8:
    return decodeBy<uint8_t>(fromInteger<uint8_t>, bytes, values);
  }
}

} // namespace dtc::rt

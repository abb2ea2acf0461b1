#include "runtime/checkpoint/Elements.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace dtc::rt {
namespace {

uint16_t bfloat(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Rounds at the last bit of a half: 2^-10 of its power of two, 2^-24 where it is denormal.
uint16_t half(float value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value))
    return sign | 0x7e00;
  float size = std::fabs(value);
  if (size >= 65520) // halfway to 2^16, which is no half
    return sign | 0x7c00;
  if (size < 0x1p-14f)
    return static_cast<uint16_t>(sign + static_cast<uint16_t>(std::nearbyint(size * 0x1p24f)));
  int exponent = 0;
  float fraction = std::frexp(size, &exponent);                               // 0.5 to 1
  auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11))); // 1024 to 2048
  return static_cast<uint16_t>(sign + ((exponent + 13) << 10) + mantissa);
}

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

} // namespace

std::vector<std::byte> encode(format::DType type, std::span<const float> values) {
  switch (type) {
  case format::DType::f32:
    return {std::as_bytes(values).begin(), std::as_bytes(values).end()};
  case format::DType::bf16:
    return encodeBy<uint16_t>(bfloat, values);
  case format::DType::f16:
    return encodeBy<uint16_t>(half, values);
  case format::DType::i32:
    return encodeBy<int32_t>(integer<int32_t>, values);
  case format::DType::i64:
    return encodeBy<int64_t>(integer<int64_t>, values);
  case format::DType::u8:
    return encodeBy<uint8_t>(integer<uint8_t>, values);
  }
  return {};
}

} // namespace dtc::rt

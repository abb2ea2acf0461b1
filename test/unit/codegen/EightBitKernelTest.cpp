// Compares roundings to 8 bits with a search through all numbers of a format, and with the bytes
// that PyTorch's float8 types give (test/run/reference/make_eight_bits.py).
#include "CompiledKernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace dtc::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The numbers of a format that are 0 or more: number i has code i.
struct Format {
  const char *name;
  int fractionBits, bias, codes;
  uint64_t hashOfBf16, hashOfF32; // of PyTorch's bytes

  double number(int code) const {
    int exponent = code >> fractionBits, fraction = code & ((1 << fractionBits) - 1);
    return exponent == 0
               ? std::ldexp(fraction, 1 - bias - fractionBits)
               : std::ldexp(fraction + (1 << fractionBits), exponent - bias - fractionBits);
  }
  double largest() const { return number(codes - 1); }

  // Returns the code nearest to a number, the even one of two; the last for what is larger.
  int nearest(double magnitude) const {
    magnitude = std::min(magnitude, largest());
    int best = 0;
    for (int code = 1; code < codes; ++code) {
      double far = std::abs(number(code) - magnitude), before = std::abs(number(best) - magnitude);
      if (far < before || (far == before && code % 2 == 0))
        best = code;
    }
    return best;
  }
};

const Format formats[] = {{"e4m3", 3, 7, 127, 0x0ca658a6c47f9c95, 0x6c060dd5946b25cd},
                          {"e5m2", 2, 15, 124, 0x210b692a0d862c85, 0x5179c71a095fc3be}};

// Returns the largest power of two by which `amax` stays in the format, at most 2^100, and such
// that the largest number over it is finite.
double scaleOf(const Format &format, double amax) {
  if (!std::isfinite(amax))
    return 1;
  int least = std::ilogb(format.largest()) - 127;
  return std::ldexp(1.0, std::clamp(std::ilogb(format.largest() / amax), least, 100));
}

std::vector<double> allOfBf16() {
  std::vector<double> values;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    values.push_back(std::bit_cast<float>(bits << 16));
  return values;
}

std::vector<double> samplesOfF32() {
  std::vector<double> values;
  for (uint32_t i = 0; i < 65536; ++i)
    values.push_back(std::bit_cast<float>(i * 2654435761U));
  return values;
}

std::string tensorOf(size_t size, const std::string &type) {
  return "tensor<" + std::to_string(size) + "x" + type + ">";
}

std::vector<double> quantise(const Format &format, const std::string &type,
                             const std::vector<double> &values, double amax) {
  std::string tensor = tensorOf(values.size(), type);
  CompiledKernel kernel("(%x: " + tensor + ", %a: tensor<f32>) -> " + tensor,
                        std::string("%0 = graph.quantise ") + format.name + " %x by %a : " + tensor,
                        "%0");
  return kernel.run({values, {amax}})[0];
}

// Compares with the nearest number of the format, found by search.
void expectNearest(const Format &format, const std::vector<double> &values,
                   const std::vector<double> &found, double amax) {
  double scale = scaleOf(format, amax);
  size_t wrong = 0;
  for (size_t i = 0; i < values.size() && wrong < 5; ++i) {
    double x = values[i];
    if (!std::isfinite(x)) {
      EXPECT_TRUE(std::isnan(found[i])) << x << " became " << found[i];
      wrong += !std::isnan(found[i]);
      continue;
    }
    double wanted = std::copysign(format.number(format.nearest(std::abs(x) * scale)) / scale, x);
    bool isSame = found[i] == wanted && std::signbit(found[i]) == std::signbit(wanted);
    EXPECT_TRUE(isSame) << format.name << " of " << x << " by " << amax << " is " << found[i]
                        << ", wanted " << wanted;
    wrong += !isSame;
  }
}

// Returns the hash (FNV-1a) of the bytes of finite numbers whose scale is 1.
uint64_t hashOf(const Format &format, const std::vector<double> &values,
                const std::vector<double> &found) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      continue;
    int code = format.nearest(std::abs(found[i])) | (std::signbit(found[i]) ? 128 : 0);
    hash = (hash ^ static_cast<uint64_t>(code)) * 0x100000001b3;
  }
  return hash;
}

} // namespace

TEST(EightBitKernel, ScalesAreThoseOfTransformerEngine) {
  const std::pair<double, double> wanted[] = {{0.3, 1024}, {1, 256}, {1.75, 256}, {1.76, 128},
                                              {3, 128},    {448, 1}, {450, 0.5}};
  for (auto [amax, scale] : wanted) {
    // The least number of e4m3, 2^-9, is what is left of itself, and half of it is 0.
    std::vector<double> x = {std::ldexp(1, -9) / scale, std::ldexp(1, -10) / scale, amax};
    std::vector<double> found = quantise(formats[0], "f32", x, amax);
    EXPECT_EQ(found[0], x[0]) << "of amax " << amax;
    EXPECT_EQ(found[1], 0) << "of amax " << amax;
  }
}

TEST(EightBitKernel, RoundsEveryBf16ToTheNearestNumber) {
  std::vector<double> values = allOfBf16();
  for (const Format &format : formats) {
    for (double amax : {format.largest(), 1.0, 1.8, 3e-7, 1e-38, 3e38, infinity})
      expectNearest(format, values, quantise(format, "bf16", values, amax), amax);
    std::vector<double> found = quantise(format, "bf16", values, format.largest());
    EXPECT_EQ(hashOf(format, values, found), format.hashOfBf16) << format.name;
  }
}

TEST(EightBitKernel, RoundsF32ToTheNearestNumber) {
  std::vector<double> values = samplesOfF32();
  for (const Format &format : formats) {
    for (double amax : {format.largest(), 0.3})
      expectNearest(format, values, quantise(format, "f32", values, amax), amax);
    std::vector<double> found = quantise(format, "f32", values, format.largest());
    EXPECT_EQ(hashOf(format, values, found), format.hashOfF32) << format.name;
  }
}

TEST(EightBitKernel, RoundsTiesToEven) {
  EXPECT_EQ(quantise(formats[0], "f32", {17, 19, 464, 464.1, 1e9, -500}, 448),
            (std::vector<double>{16, 20, 448, 448, 448, -448}));
  EXPECT_EQ(quantise(formats[1], "f32", {9, 11, 61440, 65536, -1e9}, 57344),
            (std::vector<double>{8, 12, 57344, 57344, -57344}));
}

TEST(EightBitKernel, FindsTheLargestMagnitude) {
  for (int64_t size : {1, 5, 16, 31, 33, 1000, 4096, 8192, 12288}) {
    for (const char *type : {"f32", "bf16"}) {
      for (int64_t at : {int64_t(0), size / 2, size - 1}) {
        std::vector<double> x = randomValues(size, 3);
        x[static_cast<size_t>(at)] = -7;
        CompiledKernel kernel("(%x: " + tensorOf(size, type) + ") -> tensor<f32>",
                              "%0 = graph.amax %x : " + tensorOf(size, type) + " -> tensor<f32>",
                              "%0");
        EXPECT_EQ(kernel.run({x})[0], std::vector<double>{7}) << type << " " << size << " " << at;
      }
    }
  }
  std::vector<double> x = randomValues(3 * 5 * 7, 4), wanted(3);
  for (size_t i = 0; i < x.size(); ++i)
    wanted[i / 35] = std::max(wanted[i / 35], std::abs(static_cast<double>(float(x[i]))));
  CompiledKernel kernel("(%x: tensor<3x5x7xf32>) -> tensor<3xf32>",
                        "%0 = graph.amax %x : tensor<3x5x7xf32> -> tensor<3xf32>", "%0");
  EXPECT_EQ(kernel.run({x})[0], wanted);
  for (double &each : x)
    each = std::abs(static_cast<double>(float(each)));
  CompiledKernel whole("(%x: tensor<3x5x7xf32>) -> tensor<3x5x7xf32>",
                       "%0 = graph.amax %x : tensor<3x5x7xf32> -> tensor<3x5x7xf32>", "%0");
  EXPECT_EQ(whole.run({x})[0], x) << "no dim is reduced";
}

// Products of small matrices by a warp. Each lane holds a fragment of each matrix, as the PTX ISA
// lays them out. With g = lane / 4 and t = lane % 4, a lane has rows g and g + 8 of A, C and D and
// column g of B. In the other dimension its elements begin at 2 t (16 bits) or t (32 bits). Sums
// are f32 in the order of k; how hardware rounds in between is not documented.
#include "runtime/simt/MatrixFunctions.h"

#include "runtime/simt/Engine.h"
#include "runtime/simt/MathFunctions.h"

#include <array>

namespace dtc::simt::device {

template <Element element> static float element16(uint32_t word, uint32_t half) {
  auto bits = static_cast<uint16_t>(word >> 16 * half);
  return element == Element::Bf16 ? rt::fromBf16(bits) : rt::fromF16(bits);
}

namespace {
struct Matrices {
  std::array<std::array<float, 16>, 16> a{};
  std::array<std::array<float, 8>, 16> b{};
  std::array<std::array<float, 8>, 16> sums{};

  void multiply(uint32_t depth) {
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < 8; ++j) {
        float sum = 0;
        for (uint32_t k = 0; k < depth; ++k)
          sum += a[i][k] * b[k][j];
        sums[i][j] += sum;
      }
  }
  void readSums(uint32_t lane, const uint32_t *words) {
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t i = 0; i < 4; ++i)
      sums[g + 8 * (i / 2)][2 * t + i % 2] = math::real(words[i]);
  }
  void writeSums(uint32_t lane, uint32_t *words) const {
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t i = 0; i < 4; ++i)
      words[i] = math::word(sums[g + 8 * (i / 2)][2 * t + i % 2]);
  }
  // Reads this lane's fragments of A and B, of 16-bit elements, with `depth` elements along k.
  template <Element element>
  void readFactors(uint32_t lane, const uint32_t *words, uint32_t depth) {
    uint32_t g = lane / 4, t = lane % 4, numA = depth / 4;
    for (uint32_t half = 0; half < 2; ++half) {
      for (uint32_t i = 0; i < numA; ++i)
        a[g + 8 * (i % 2)][2 * t + half + 8 * (i / 2)] = element16<element>(words[i], half);
      for (uint32_t i = 0; i < depth / 8; ++i)
        b[2 * t + half + 8 * i][g] = element16<element>(words[numA + i], half);
    }
  }
};
} // namespace

template <Element element, uint32_t depth> static void combine16(Engine &, const Lanes &lanes) {
  Matrices all;
  for (uint32_t lane = 0; lane < warpThreads; ++lane) {
    all.readFactors<element>(lane, lanes.at[lane]->given, depth);
    all.readSums(lane, lanes.at[lane]->given + depth / 4 + depth / 8);
  }
  all.multiply(depth);
  for (uint32_t lane = 0; lane < warpThreads; ++lane)
    all.writeSums(lane, lanes.at[lane]->result);
}

template <Element element>
void multiply16x8x16(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                     uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                     const Site *site) {
  uint32_t given[] = {a0, a1, a2, a3, b0, b1, c0, c1, c2, c3};
  Engine::current().meet(~0u, given, d, combine16<element, 16>, site, /*whole=*/true);
}
template <Element element>
void multiply16x8x8(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t c0, uint32_t c1,
                    uint32_t c2, uint32_t c3, const Site *site) {
  uint32_t given[] = {a0, a1, b0, c0, c1, c2, c3};
  Engine::current().meet(~0u, given, d, combine16<element, 8>, site, /*whole=*/true);
}
template void multiply16x8x16<Element::F16>(uint32_t *, uint32_t, uint32_t, uint32_t, uint32_t,
                                            uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                            uint32_t, const Site *);
template void multiply16x8x16<Element::Bf16>(uint32_t *, uint32_t, uint32_t, uint32_t, uint32_t,
                                             uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                             uint32_t, const Site *);
template void multiply16x8x8<Element::F16>(uint32_t *, uint32_t, uint32_t, uint32_t, uint32_t,
                                           uint32_t, uint32_t, uint32_t, const Site *);
template void multiply16x8x8<Element::Bf16>(uint32_t *, uint32_t, uint32_t, uint32_t, uint32_t,
                                            uint32_t, uint32_t, uint32_t, const Site *);

void multiply16x8x16HalfSums(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                             uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, const Site *site) {
  uint32_t result[4];
  multiply16x8x16<Element::F16>(result, a0, a1, a2, a3, b0, b1, math::fromF16(c0 & 0xffff),
                                math::fromF16(c0 >> 16), math::fromF16(c1 & 0xffff),
                                math::fromF16(c1 >> 16), site);
  d[0] = math::toF16Pair(result[1], result[0]);
  d[1] = math::toF16Pair(result[3], result[2]);
}

static void combineTf32(Engine &, const Lanes &lanes) {
  Matrices all;
  auto tf32 = [](uint32_t word) {
    return math::real(word & ~0x1fffu);
  }; // hardware does not read the lower bits
  for (uint32_t lane = 0; lane < warpThreads; ++lane) {
    const uint32_t *words = lanes.at[lane]->given;
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t i = 0; i < 4; ++i)
      all.a[g + 8 * (i % 2)][t + 4 * (i / 2)] = tf32(words[i]);
    for (uint32_t i = 0; i < 2; ++i)
      all.b[t + 4 * i][g] = tf32(words[4 + i]);
    all.readSums(lane, words + 6);
  }
  all.multiply(8);
  for (uint32_t lane = 0; lane < warpThreads; ++lane)
    all.writeSums(lane, lanes.at[lane]->result);
}

void multiply16x8x8Tf32(uint32_t *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                        uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1, uint32_t c2,
                        uint32_t c3, const Site *site) {
  uint32_t given[] = {a0, a1, a2, a3, b0, b1, c0, c1, c2, c3};
  Engine::current().meet(~0u, given, d, combineTf32, site, /*whole=*/true);
}

} // namespace dtc::simt::device

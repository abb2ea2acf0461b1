// Compares operations of a warp with their definition, under shuffled schedules.
#include "runtime/simt/MathFunctions.h"
#include "test/unit/simt/HostKernel.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace dtc;
using namespace dtc::simt;
using namespace dtc::simt::test;
using device::Shuffle;

namespace {

// Returns what each of 32 lanes writes to x[lane], or x[words * lane + i].
std::vector<uint32_t> runWarp(void (*entry)(void **), const std::vector<uint32_t> &given,
                              uint32_t words, uint64_t seed, uint32_t sharedBytes = 0) {
  Memory memory;
  Buffer<uint32_t> input(memory, given), output(memory, 32 * words);
  void *parameters[] = {&output.data, &input.data};
  Options options;
  options.seed = seed;
  EXPECT_EQ(
      launch(kernelOf(entry, sharedBytes), {1}, {32}, 0, parameters, memory, options).message(),
      "");
  return output.values();
}

std::vector<uint32_t> randomWords(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> words(count);
  for (uint32_t &word : words)
    word = static_cast<uint32_t>(random());
  return words;
}

// The input is 32 values, then the lane operand and the control word of all lanes.
template <Shuffle kind> void shuffleAll(void **parameters) {
  auto *out = parameter<uint32_t *>(parameters, 0), *in = parameter<uint32_t *>(parameters, 1);
  device::shuffleWithPredicate<kind>(out + 2 * threadIndex(), ~0u, in[threadIndex()], in[32],
                                     in[33], at<1>());
}

// The definition of the PTX ISA, in its words.
template <Shuffle kind> void expectShuffle(uint32_t b, uint32_t c, uint64_t seed) {
  std::vector<uint32_t> given = randomWords(32, static_cast<uint32_t>(seed) + 1);
  given.push_back(b);
  given.push_back(c);
  std::vector<uint32_t> got = runWarp(shuffleAll<kind>, given, 2, seed);
  for (int lane = 0; lane < 32; ++lane) {
    int bval = static_cast<int>(b & 31), cval = static_cast<int>(c & 31),
        segmask = static_cast<int>(c >> 8 & 31);
    int maxLane = (lane & segmask) | (cval & ~segmask), minLane = lane & segmask, j = 0;
    bool pval = false;
    switch (kind) {
    case Shuffle::Up:
      j = lane - bval;
      pval = j >= maxLane;
      break;
    case Shuffle::Down:
      j = lane + bval;
      pval = j <= maxLane;
      break;
    case Shuffle::Butterfly:
      j = lane ^ bval;
      pval = j <= maxLane;
      break;
    case Shuffle::Index:
      j = minLane | (bval & ~segmask);
      pval = j <= maxLane;
      break;
    }
    auto at = static_cast<size_t>(lane);
    EXPECT_EQ(got[2 * at], given[static_cast<size_t>(pval ? j : lane)])
        << "lane " << lane << " b " << b << " c " << c;
    EXPECT_EQ(got[2 * at + 1], static_cast<uint32_t>(pval));
  }
}

TEST(Shuffles, FollowThePtxIsa) {
  for (uint32_t width : {32u, 16u, 8u, 2u})
    for (uint32_t b : {0u, 1u, 3u, 7u, 16u, 31u}) {
      uint32_t segment = (32 - width) << 8;
      expectShuffle<Shuffle::Up>(b, segment, b + width);
      expectShuffle<Shuffle::Down>(b, segment | 31, b + width);
      expectShuffle<Shuffle::Butterfly>(b, segment | 31, b + width);
      expectShuffle<Shuffle::Index>(b, segment | 31, b + width);
    }
}

void votes(void **parameters) {
  auto *out = parameter<uint32_t *>(parameters, 0), *in = parameter<uint32_t *>(parameters, 1);
  uint32_t lane = threadIndex(), mask = lane < 20 ? 0xfffff : ~0xfffffu;
  uint32_t value = in[lane], *to = out + 8 * lane;
  to[0] = device::voteBallot(mask, value & 1, at<1>());
  to[1] = device::voteAny(mask, lane == 3, at<2>());
  to[2] = device::voteAll(mask, lane != 3, at<3>());
  to[3] = device::voteUniform(mask, lane >= 20, at<4>());
  to[4] = device::matchAny(mask, value & 3, at<5>());
  to[5] = device::reduce<device::Reduce::Add>(value, mask, at<6>());
  to[6] = device::reduce<device::Reduce::Min>(value, mask, at<7>());
  to[7] = device::reduce<device::Reduce::UnsignedMax>(value, mask, at<8>());
}

TEST(Votes, TakeTheLanesOfTheMask) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<uint32_t> in = randomWords(32, static_cast<uint32_t>(seed)),
                          out = runWarp(votes, in, 8, seed);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t first = lane < 20 ? 0 : 20, last = lane < 20 ? 20 : 32, ballot = 0, match = 0,
               sum = 0, top = 0;
      int32_t least = INT32_MAX;
      for (uint32_t i = first; i < last; ++i) {
        ballot |= (in[i] & 1) << i;
        match |= uint32_t{(in[i] & 3) == (in[lane] & 3)} << i;
        sum += in[i];
        least = std::min(least, static_cast<int32_t>(in[i]));
        top = std::max(top, in[i]);
      }
      const uint32_t *got = &out[8 * lane];
      EXPECT_EQ(got[0], ballot);
      EXPECT_EQ(got[1], uint32_t{lane < 20});
      EXPECT_EQ(got[2], uint32_t{lane >= 20});
      EXPECT_EQ(got[3], 1u);
      EXPECT_EQ(got[4], match);
      EXPECT_EQ(got[5], sum);
      EXPECT_EQ(static_cast<int32_t>(got[6]), least);
      EXPECT_EQ(got[7], top);
    }
  }
}

void sumIntoShared(void **) {
  if (threadIndex() >= 48) // leaves its warp, which continues without it
    return;
  uint32_t all = device::reduce<device::Reduce::Add>(1, ~0u, at<1>());
  EXPECT_EQ(all, threadIndex() < 32 ? 32u : 16u);
}

TEST(Votes, GoOnWithoutLanesThatHaveEnded) {
  Memory memory;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Options options;
    options.seed = seed;
    EXPECT_EQ(launch(kernelOf(sumIntoShared), {1}, {60}, 0, nullptr, memory, options).message(),
              "");
  }
}

// A [16,k], B [k,8] and C [16,8] as numbers and as fragments, and D = A B + C by a plain loop.
struct Product {
  std::vector<float> a, b, c, d;
  uint32_t depth;

  Product(uint32_t depth, uint32_t seed)
      : a(16 * depth), b(8 * depth), c(128), d(128), depth(depth) {
    std::mt19937 random(seed);
    auto fill = [&](std::vector<float> &all) {
      for (float &x : all)
        x = static_cast<float>(static_cast<int>(random() % 65) - 32) /
            8; // exact in every type and sum
    };
    fill(a), fill(b), fill(c);
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < 8; ++j) {
        d[8 * i + j] = c[8 * i + j];
        for (uint32_t k = 0; k < depth; ++k)
          d[8 * i + j] += a[depth * i + k] * b[8 * k + j];
      }
  }
};

// Formulas of the PTX ISA: row = g for i < 2 or 4 <= i < 6, else g + 8; column = 2 t + (i & 1), + 8
// for i >= 4.
std::vector<uint32_t> fragments16(const Product &product, uint32_t (*convert)(uint32_t)) {
  std::vector<uint32_t> words;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t g = lane / 4, t = lane % 4;
    auto pair = [&](float low, float high) {
      words.push_back(convert(math::word(high)) << 16 | convert(math::word(low)));
    };
    for (uint32_t i = 0; i < product.depth / 2; i += 2) {
      uint32_t row = i % 4 < 2 ? g : g + 8, column = 2 * t + (i >= 4 ? 8 : 0);
      pair(product.a[product.depth * row + column], product.a[product.depth * row + column + 1]);
    }
    for (uint32_t i = 0; i < product.depth / 4; i += 2) {
      uint32_t row = 2 * t + (i >= 2 ? 8 : 0);
      pair(product.b[8 * row + g], product.b[8 * (row + 1) + g]);
    }
    for (uint32_t i = 0; i < 4; ++i)
      words.push_back(math::word(product.c[8 * (i < 2 ? g : g + 8) + 2 * t + i % 2]));
  }
  return words;
}

void expectProduct(const Product &product, const std::vector<uint32_t> &words) {
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(math::real(words[4 * lane + i]),
                product.d[8 * (lane / 4 + (i < 2 ? 0 : 8)) + 2 * (lane % 4) + i % 2]);
}

template <device::Element element> void multiply16(void **parameters) {
  auto *out = parameter<uint32_t *>(parameters, 0),
       *w = parameter<uint32_t *>(parameters, 1) + 10 * threadIndex();
  device::multiply16x8x16<element>(out + 4 * threadIndex(), w[0], w[1], w[2], w[3], w[4], w[5],
                                   w[6], w[7], w[8], w[9], at<1>());
}
template <device::Element element> void multiply8(void **parameters) {
  auto *out = parameter<uint32_t *>(parameters, 0),
       *w = parameter<uint32_t *>(parameters, 1) + 7 * threadIndex();
  device::multiply16x8x8<element>(out + 4 * threadIndex(), w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                  at<1>());
}
void multiplyTf32(void **parameters) {
  auto *out = parameter<uint32_t *>(parameters, 0),
       *w = parameter<uint32_t *>(parameters, 1) + 10 * threadIndex();
  device::multiply16x8x8Tf32(out + 4 * threadIndex(), w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                             w[7], w[8], w[9], at<1>());
}
void multiplyHalfSums(void **parameters) {
  auto *out = parameter<uint32_t *>(parameters, 0),
       *w = parameter<uint32_t *>(parameters, 1) + 10 * threadIndex();
  uint32_t d[2];
  device::multiply16x8x16HalfSums(d, w[0], w[1], w[2], w[3], w[4], w[5],
                                  math::toF16Pair(w[7], w[6]), math::toF16Pair(w[9], w[8]),
                                  at<1>());
  for (uint32_t i = 0; i < 4; ++i)
    out[4 * threadIndex() + i] = math::fromF16(d[i / 2] >> 16 * (i % 2) & 0xffff);
}

TEST(MatrixProducts, EqualAPlainLoop) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    Product deep(16, seed), flat(8, seed);
    expectProduct(
        deep, runWarp(multiply16<device::Element::Bf16>, fragments16(deep, math::toBf16), 4, seed));
    expectProduct(
        deep, runWarp(multiply16<device::Element::F16>, fragments16(deep, math::toF16), 4, seed));
    Product narrow = deep; // its sums are f16
    for (float &sum : narrow.d)
      sum = math::real(math::fromF16(math::toF16(math::word(sum))));
    expectProduct(narrow, runWarp(multiplyHalfSums, fragments16(deep, math::toF16), 4, seed));
    expectProduct(
        flat, runWarp(multiply8<device::Element::Bf16>, fragments16(flat, math::toBf16), 4, seed));
    std::vector<uint32_t> words;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t g = lane / 4, t = lane % 4;
      for (uint32_t i = 0; i < 4; ++i)
        words.push_back(math::word(flat.a[8 * (i % 2 ? g + 8 : g) + t + (i < 2 ? 0 : 4)]));
      for (uint32_t i = 0; i < 2; ++i)
        words.push_back(math::word(flat.b[8 * (t + 4 * i) + g]));
      for (uint32_t i = 0; i < 4; ++i)
        words.push_back(math::word(flat.c[8 * (i < 2 ? g : g + 8) + 2 * t + i % 2]));
    }
    expectProduct(flat, runWarp(multiplyTf32, words, 4, seed));
  }
}

// Four matrices of 8 x 8 in shared memory. Row r of matrix m is at 64 m + 8 r.
template <bool transposed> void loadFour(void **parameters) {
  auto *out = parameter<uint32_t *>(parameters, 0), *in = parameter<uint32_t *>(parameters, 1);
  auto *shared = sharedArray<uint32_t>();
  for (uint32_t i = threadIndex(); i < 128; i += 32)
    write<1>(shared + i, in[i]);
  device::syncWarp(~0u, at<2>());
  device::loadMatrices<4, transposed>(out + 4 * threadIndex(), shared + 4 * threadIndex(), at<3>());
}

TEST(MatrixLoads, GiveLanesPairsOfRowsOrColumns) {
  std::vector<uint32_t> in = randomWords(128, 5);
  auto element = [&](uint32_t m, uint32_t row, uint32_t column) {
    uint32_t at = 64 * m + 8 * row + column;
    return in[at / 2] >> 16 * (at % 2) & 0xffff;
  };
  std::vector<uint32_t> plain = runWarp(loadFour<false>, in, 4, 1, 512),
                        turned = runWarp(loadFour<true>, in, 4, 2, 512);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t m = 0; m < 4; ++m) {
      uint32_t g = lane / 4, t = 2 * (lane % 4);
      EXPECT_EQ(plain[4 * lane + m], element(m, g, t + 1) << 16 | element(m, g, t));
      EXPECT_EQ(turned[4 * lane + m], element(m, t + 1, g) << 16 | element(m, t, g));
    }
}

void countPredicates(void **parameters) {
  for (uint32_t turn = 0; turn < 5; ++turn) {
    EXPECT_EQ(device::syncBlockCount(0, threadIndex() < turn, at<1>()), turn);
    EXPECT_EQ(device::syncBlockAny(0, threadIndex() == 99 && turn == 2, at<2>()),
              uint32_t{turn == 2});
    EXPECT_EQ(device::syncBlockAll(0, threadIndex() != 99 || turn != 2, at<3>()),
              uint32_t{turn != 2});
  }
}

TEST(Barriers, CountPredicates) {
  Memory memory;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Options options;
    options.seed = seed;
    EXPECT_EQ(launch(kernelOf(countPredicates), {1}, {100}, 0, nullptr, memory, options).message(),
              "");
  }
}

} // namespace

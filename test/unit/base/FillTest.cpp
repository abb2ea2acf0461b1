// Tests initial values: known ones, and equality over all shardings.
#include "runtime/base/Fill.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>

namespace dtc::rt {
namespace {
TensorSpec normal(std::vector<uint64_t> shape, uint64_t key, float mean, float stddev) {
  TensorSpec spec;
  spec.name = "w";
  spec.globalShape = spec.storedShape = spec.localShape = std::move(shape);
  spec.init = InitKind::Normal;
  spec.initKey = key;
  spec.mean = mean;
  spec.stddev = stddev;
  return spec;
}

// Values of the formula in Fill.h, computed in Python.
TEST(InitialiseTensor, DrawsKnownNormals) {
  std::vector<float> values(6);
  ASSERT_TRUE(initialiseTensor(normal({6}, 7, 0.5f, 2), 42, {}, {}, values).ok());
  const float wanted[] = {2.63030171f, -1.13504946f, -0.157251343f,
                          1.15531576f, 4.13625813f,  -1.00591481f};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(values[i], wanted[i]) << i;
}

TEST(InitialiseTensor, UsesAllBitsOfSeedKeyAndIndex) {
  // The last element, number 2^33 + 5, of a tensor of which this rank holds no other element.
  // Coordinates have 32 bits, so two dimensions are sharded.
  uint64_t half = (uint64_t(1) << 32) + 3;
  TensorSpec spec = normal({half, 2}, (uint64_t(1) << 32) + 9, 0, 1);
  spec.localShape = {4, 1};
  spec.shards = {{0, 0}, {1, 1}};
  std::vector<uint32_t> mesh = {(uint32_t(1) << 30) + 1, 2}, coordinates = {uint32_t(1) << 30, 1};
  std::vector<float> local(4, -1);
  ASSERT_TRUE(initialiseTensor(spec, (uint64_t(1) << 40) + 3, mesh, coordinates, local).ok());
  EXPECT_FLOAT_EQ(local[2], -1.67028368f);
  EXPECT_EQ(local[3], 0);
}

TEST(InitialiseTensor, FillsConstantsAndPadding) {
  TensorSpec spec = normal({5}, 0, 3, 0);
  spec.localShape = {3};
  spec.shards = {{0, 0}};
  std::vector<uint32_t> mesh = {2}, at = {1};
  for (auto [kind, value] : {std::pair{InitKind::Zeros, 0.0f},
                             {InitKind::Ones, 1.0f},
                             {InitKind::Constant, 3.0f},
                             {InitKind::Normal, 3.0f}}) {
    spec.init = kind;
    std::vector<float> local(3, -1);
    ASSERT_TRUE(initialiseTensor(spec, 1, mesh, at, local).ok());
    EXPECT_EQ(local, (std::vector<float>{value, value, 0}));
  }
}

// Shards two dims over two axes each: rows of 5 over axes 0 and 2, columns of 7 zigzag over axis 1.
TEST(InitialiseTensor, FillsEveryPiece) {
  TensorSpec whole = normal({5, 7}, 11, 0, 0.02f);
  std::vector<float> all(35);
  ASSERT_TRUE(initialiseTensor(whole, 99, {}, {}, all).ok());
  TensorSpec spec = whole;
  spec.localShape = {2, 4};
  spec.shards = {{0, 0}, {0, 2}, {1, 1, true}};
  std::vector<uint32_t> mesh = {2, 2, 2};
  ASSERT_TRUE(checkTensorSpec(spec, mesh).ok());
  for (uint32_t rank = 0; rank < 8; ++rank) {
    std::vector<uint32_t> at = {rank / 4, rank / 2 % 2, rank % 2};
    std::vector<float> local(8, -1);
    ASSERT_TRUE(initialiseTensor(spec, 99, mesh, at, local).ok());
    for (uint64_t i = 0; i < 8; ++i) {
      // Coordinate 0 has columns 0 1 | 6 -, and coordinate 1 has 2 3 | 4 5.
      uint64_t first = i % 4 < 2 ? at[1] * 2 : (3 - at[1]) * 2;
      uint64_t row = (at[0] * 2 + at[2]) * 2 + i / 4, column = first + i % 2;
      float wanted = row < 5 && column < 7 ? all[row * 7 + column] : 0;
      EXPECT_EQ(local[i], wanted) << "rank " << rank << " element " << i;
    }
  }
}

// Every shard of a 2 x 3 mesh equals the same elements of the whole tensor.
TEST(InitialiseTensor, DoesNotDependOnThePlan) {
  TensorSpec whole = normal({5, 3, 7}, 11, 0, 0.02f);
  std::vector<float> all(105);
  ASSERT_TRUE(initialiseTensor(whole, 99, {}, {}, all).ok());
  TensorSpec spec = whole;
  spec.localShape = {3, 3, 3};
  spec.shards = {{0, 0}, {2, 1}};
  std::vector<uint32_t> mesh = {2, 3};
  ASSERT_TRUE(checkTensorSpec(spec, mesh).ok());
  for (uint32_t rank = 0; rank < 6; ++rank) {
    std::vector<uint32_t> at = {rank / 3, rank % 3};
    std::vector<float> local(27, -1);
    ASSERT_TRUE(initialiseTensor(spec, 99, mesh, at, local).ok());
    for (uint64_t i = 0; i < 27; ++i) {
      uint64_t row = i / 9 + at[0] * 3, middle = i / 3 % 3, column = i % 3 + at[1] * 3;
      float wanted = row < 5 && column < 7 ? all[(row * 3 + middle) * 7 + column] : 0;
      EXPECT_EQ(local[i], wanted) << "rank " << rank << " element " << i;
    }
  }
}

TEST(InitialiseTensor, GivesTheSameWithThreads) {
  TensorSpec spec = normal({1200, 1001}, 5, 0, 1);
  spec.localShape = {1200, 501};
  spec.shards = {{1, 0}};
  for (uint32_t coordinate : {0u, 1u}) {
    std::vector<float> one(1200 * 501, -1), three(one), wanted(one);
    std::vector<uint32_t> mesh = {2}, at = {coordinate};
    ASSERT_TRUE(initialiseTensor(spec, 8, mesh, at, one, 1).ok());
    ASSERT_TRUE(initialiseTensor(spec, 8, mesh, at, three, 3).ok());
    EXPECT_EQ(one, three);
  }
}

TEST(InitialiseTensor, HasTheMomentsOfANormal) {
  std::vector<float> values(1000000);
  ASSERT_TRUE(initialiseTensor(normal({1000000}, 1, 0.25f, 0.5f), 3, {}, {}, values).ok());
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += double(value) * value;
  }
  double mean = sum / 1e6, deviation = std::sqrt(squares / 1e6 - mean * mean);
  // The standard errors are 0.0005 and 0.00035.
  EXPECT_NEAR(mean, 0.25, 0.0025);
  EXPECT_NEAR(deviation, 0.5, 0.0018);
}

TEST(InitialiseTensor, RefusesABufferOfAnotherSize) {
  std::vector<float> values(5);
  EXPECT_EQ(initialiseTensor(normal({6}, 0, 0, 1), 1, {}, {}, values).message(),
            "initialising tensor 'w': the buffer has 5 elements, its local shape 6");
}

TEST(InitialiseTensor, ReportsItsSpeed) {
  std::vector<float> values(8 << 20);
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(initialiseTensor(normal({8 << 20}, 0, 0, 1), 1, {}, {}, values).ok());
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  double rate = static_cast<double>(values.size()) / seconds.count() / 1e6;
  std::printf("%.0f million normals per second\n", rate);
  // Finds a slowdown by an order of magnitude, but passes on a busy machine.
  EXPECT_GT(rate, 1);
}
} // namespace
} // namespace dtc::rt

// Tests seconds of single ops, by hand for a small invented device and against published
// measurements.
#include "compiler/price/cost/OpCost.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/Cost.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

// Constants of a GPU without figures of its own: products reach 0.80 of the peak, memory 0.85, half
// rate at k 64, k split into parts of 512, tiles 256 x 128 (1.0), 128 x 128 (0.95), 64 x 64 (0.7).
DeviceKind smallDevice() {
  DeviceKind device;
  device.name = "made-up";
  device.memoryBandwidth = 1e12;
  device.peakFlops[static_cast<size_t>(ComputeType::F32)] = 10e12;
  device.peakFlops[static_cast<size_t>(ComputeType::BF16)] = 100e12;
  device.launchLatency = 10e-6;
  device.computeUnits = 4;
  return device;
}

OpWork memoryWork(double bytes, double flops = 0) {
  OpWork work;
  work.bytes = bytes;
  work.flops = flops;
  return work;
}

// Returns the share of 100 TFLOP/s x 0.80 that a bf16 product reaches.
double shareOf(int64_t m, int64_t n, int64_t k) {
  OpWork work = productWork(m, n, k, 1, ComputeType::BF16);
  work.bytes = 0;
  return work.flops / (secondsOf(work, smallDevice()) - 10e-6) / 80e12;
}

} // namespace

TEST(ProductWork, CountsFlopsAndBytes) {
  OpWork work = productWork(1024, 3072, 768, 1, ComputeType::BF16);
  EXPECT_EQ(work.flops, 4831838208.0);
  EXPECT_EQ(work.bytes, 2.0 * (1024 * 768 + 768 * 3072 + 1024 * 3072));
  EXPECT_EQ(productWork(2, 3, 4, 5, ComputeType::F32).flops, 240);
  EXPECT_EQ(productWork(2, 3, 4, 5, ComputeType::F32).bytes, 4.0 * 5 * (8 + 12 + 6));
}

TEST(SecondsOf, MemoryOpsTakeTheirBytes) {
  // 8.5e9 B / (1e12 B/s x 0.85) = 10 ms, and 10 us to launch.
  EXPECT_NEAR(secondsOf(memoryWork(8.5e9), smallDevice()), 0.01001, 1e-12);
  // 5e10 / (10e12 x 0.5) = 10 ms of additions hide 1 ms of bytes.
  EXPECT_NEAR(secondsOf(memoryWork(8.5e8, 5e10), smallDevice()), 0.01001, 1e-12);
  EXPECT_EQ(secondsOf(memoryWork(0), smallDevice()), 0);
}

TEST(SecondsOf, ProductsReachTheirShare) {
  // 16 tiles of 256 x 128 are 4 full waves; k 960 / (960 + 64) = 0.9375: 75 TFLOP/s for 1006632960
  // flop.
  OpWork work = productWork(1024, 512, 960, 1, ComputeType::BF16);
  EXPECT_NEAR(secondsOf(work, smallDevice()), 1006632960 / 75e12 + 10e-6, 1e-15);
  // A narrow k is bound by bytes: 2 x (1024 x 1 + 1 x 512 + 1024 x 512) = 1051648 B.
  EXPECT_NEAR(secondsOf(productWork(1024, 512, 1, 1, ComputeType::BF16), smallDevice()),
              1051648 / 0.85e12 + 10e-6, 1e-15);
}

TEST(SecondsOf, ProductsLoseToQuantisation) {
  // 1280 x 128 on 4 units: 5 tiles of 256 x 128 need 2 waves (0.625), 10 of 128 x 128 need 3 (0.95
  // x 10 / 12).
  EXPECT_NEAR(shareOf(1280, 128, 960), 0.95 * 10 / 12 * 0.9375, 1e-9);
  // 65 x 64 has 2 tiles of 64 x 64, of which 65 / 128 is used, on 2 of 4 units.
  EXPECT_NEAR(shareOf(65, 64, 960), 0.7 * 65 / 128 * 0.5 * 0.9375, 1e-9);
  // One tile of 128 x 128 over k 4096 is split into 4 parts of k 1024.
  EXPECT_NEAR(shareOf(128, 128, 4096), 0.95 * 1024 / 1088, 1e-9);
}

// 6 tiles of 256 x 128 take two waves of 4 units, with half of the second one empty. k 4096 may be
// split into parts of at least 512: two parts are 12 tiles and 3 full waves, at 2048 / (2048 + 64).
TEST(SecondsOf, DeepProductsFillTheirWaves) {
  EXPECT_NEAR(shareOf(512, 384, 4096), 2048.0 / 2112, 1e-12);
  // k 960 is too short for two such parts, and 12 tiles of 128 x 128 are three waves, at 0.95.
  EXPECT_NEAR(shareOf(512, 384, 960), 0.95 * 960 / 1024, 1e-12);
  OpTerms terms = explainOp(productWork(512, 384, 4096, 1, ComputeType::BF16), smallDevice());
  EXPECT_EQ(terms.parts, 2);
  EXPECT_EQ(terms.waves, 3);
}

// An H200 multiplied 3072 x 32768 by 32768 x 768 in 214 us within a step of GPT-2 124M
// (bench/results/gpu.md).
TEST(SecondsOf, H200WeightGradientsAgreeWithMeasurement) {
  DeviceKind h200 = loadTopology("dgx-h200", 1, 1)->device;
  double seconds =
      secondsOf(productWork(3072, 768, 32768, 1, ComputeType::BF16), h200, Launch::Replayed);
  EXPECT_NEAR(seconds, 214e-6, 0.05 * 214e-6);
}

TEST(SecondsOf, ReplayedLaunchesAreShorter) {
  DeviceKind device = smallDevice();
  EXPECT_EQ(secondsOf(memoryWork(8.5e5), device, Launch::Replayed),
            secondsOf(memoryWork(8.5e5), device));
  device.graphLatency = 2e-6;
  EXPECT_NEAR(secondsOf(memoryWork(8.5e5), device, Launch::Replayed), 3e-6, 1e-15);
  EXPECT_NEAR(secondsOf(memoryWork(8.5e5), device), 11e-6, 1e-15);
  EXPECT_EQ(explainOp(memoryWork(8.5e5), device, Launch::Replayed).launchSeconds, 2e-6);
  EXPECT_EQ(explainOp(memoryWork(0), device).launchSeconds, 0);
}

TEST(SecondsOf, AttentionGrowsWithLength) {
  OpWork work;
  work.kind = WorkKind::Attention;
  work.type = ComputeType::BF16;
  work.flops = 2e10;
  work.batch = 8;
  work.m = work.n = 500;
  work.k = 64; // 0.4 x 500 / (500 + 500) = 0.2 of 100 TFLOP/s
  EXPECT_NEAR(secondsOf(work, smallDevice()), 2e10 / 20e12 + 10e-6, 1e-12);
  work.k = 96; // half way to 0.5 x 500 / (500 + 480)
  EXPECT_NEAR(secondsOf(work, smallDevice()), 2e10 / (100e12 * (0.2 + 0.5 * 500 / 980) / 2) + 10e-6,
              1e-12);
  work.k = 256;
  EXPECT_NEAR(secondsOf(work, smallDevice()), 2e10 / (100e12 * 0.5 * 500 / 980) + 10e-6, 1e-12);
}

TEST(SecondsOf, ComputesUnsupportedTypesInF32) {
  OpWork narrow = productWork(1024, 512, 960, 1, ComputeType::FP8), wide = narrow;
  wide.type = ComputeType::F32;
  EXPECT_EQ(secondsOf(narrow, smallDevice()), secondsOf(wide, smallDevice()));
  EXPECT_GT(secondsOf(narrow, smallDevice()), 1006632960 / 10e12);
}

TEST(SecondsOf, MoreWorkIsNeverFree) {
  // Doubling a dimension never makes a product faster.
  for (int64_t m = 1; m <= 8192; m *= 2)
    for (int64_t k = 1; k <= 8192; k *= 2) {
      double once = secondsOf(productWork(m, 768, k, 1, ComputeType::BF16), smallDevice());
      EXPECT_GE(secondsOf(productWork(2 * m, 768, k, 1, ComputeType::BF16), smallDevice()),
                once * (1 - 1e-12));
      EXPECT_GE(secondsOf(productWork(m, 768, 2 * k, 1, ComputeType::BF16), smallDevice()),
                once * (1 - 1e-12));
    }
}

// An H200, whose compute units are an H100's, reached 788 TFLOP/s of bf16 products of 8192 cubed.
TEST(SecondsOf, H100ProductsAgreeWithMeasurement) {
  DeviceKind h100 = loadTopology("dgx-h100")->device;
  OpWork work = productWork(8192, 8192, 8192, 1, ComputeType::BF16);
  EXPECT_NEAR(work.flops / secondsOf(work, h100) / 788e12, 1, 0.06);
}

// Forward and backward of causal attention with head dimension 128, from the charts in
// flash-attention's assets (A100 SXM).
TEST(SecondsOf, A100AttentionAgreesWithMeasurement) {
  DeviceKind a100 = loadTopology("dgx-a100-80g")->device;
  a100.launchLatency = 0;
  const std::pair<int64_t, double> measured[] = {{512, 99e12},   {1024, 133e12}, {2048, 155e12},
                                                 {4096, 173e12}, {8192, 182e12}, {16384, 189e12}};
  for (auto [length, rate] : measured) {
    OpWork work;
    work.kind = WorkKind::Attention;
    work.type = ComputeType::BF16;
    work.m = work.n = length;
    work.k = 128;
    work.flops = 1e12;
    EXPECT_NEAR(1e12 / secondsOf(work, a100) / rate, 1, 0.05) << length;
  }
}

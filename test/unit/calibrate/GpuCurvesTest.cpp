// Checks that the reader of topology files accepts the output of tools/calibrate-gpu.
#include "compiler/describe/topology/Calibration.h"
#include "compiler/describe/topology/CalibrationFiles.h"
#include "compiler/describe/topology/Topology.h"
#include "compiler/support/File.h"
#include "tools/calibrate-gpu/CurvesFile.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <tuple>
#include <unistd.h>

using namespace dtc;

namespace {

CurvesHead head() {
  CurvesHead head;
  head.facts.name = "a \"GPU\"\n";
  head.facts.units = 132;
  head.facts.count = 8;
  head.facts.runtime = 13020;
  head.facts.cublasLt = 130103;
  head.before = {"580.95.05", 1.98e9, 2.619e9, 120, 700, 34};
  head.date = "2026-11-21";
  head.level = "nvlink";
  return head;
}

// Returns points of every kind with invented times.
MeasuredPoints points() {
  MeasuredPoints points;
  points.launches = {{false, {2.5e-6, 0.01, 15}}, {true, {1.25e-6, 0, 15}}};
  int made = 0;
  for (const Product &product : trainingProducts(/*quick=*/true))
    if (product.m == 4096 && product.k == 768)
      points.products.push_back({product, {1e-5 * ++made, 0.02, 9}});
  for (const char *pattern : {"copy", "triad", "pointwise"})
    for (int64_t bytes : memorySizes(/*quick=*/true))
      points.memory.push_back({pattern, bytes, {3e-6 + double(bytes) / 2.5e12, 0.5, 9}});
  for (const char *kind :
       {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive"})
    for (int ranks : {2, 8})
      points.collectives.push_back({kind, ranks, 1 << 20, {1.5e-5 * ranks, 0.1, 9}});
  return points;
}

class GpuCurves : public testing::Test {
protected:
  void TearDown() override { std::remove(path.c_str()); }

  std::string written(const std::string &text) const {
    EXPECT_TRUE(writeFileAtomically(path, text).ok());
    return path;
  }

  // The path is unique to this process, because other cases and other jobs of this machine may run
  // at the same time.
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "-gpu-curves.toml";
};

} // namespace

TEST_F(GpuCurves, AreReadAsWritten) {
  Result<Calibration> read = readCurves(written(curvesText(head(), points())), "dgx-h100");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->machine, "a \"GPU\"\n, one of 8");
  EXPECT_EQ(read->software, "CUDA 13.2, cuBLASLt 13.1.3, driver 580.95.05");
  EXPECT_EQ(read->date, "2026-11-21");
  MeasuredPoints made = points();
  ASSERT_EQ(read->launches.size(), made.launches.size());
  EXPECT_EQ(read->launches[0].time.seconds, 2.5e-6);
  EXPECT_EQ(read->launches[0].units, 132);
  EXPECT_TRUE(read->launches[1].graph);
  ASSERT_EQ(read->products.size(), made.products.size());
  std::set<ComputeType> types;
  for (size_t i = 0; i < made.products.size(); ++i) {
    const ProductPoint &point = read->products[i];
    const Product &product = made.products[i].product;
    types.insert(point.type);
    EXPECT_EQ(nameOf(point.type).str(), nameOf(product.type));
    EXPECT_EQ(std::tuple(point.m, point.n, point.k, point.batch),
              std::tuple(product.m, product.n, product.k, 1));
    EXPECT_NEAR(point.time.seconds, made.products[i].time.seconds, 1e-12);
    EXPECT_EQ(point.time.repeats, 9);
    EXPECT_EQ(point.time.spread, 0.02);
  }
  EXPECT_EQ(types.size(), 3U); // quick: bf16, tf32, fp8
  ASSERT_EQ(read->memory.size(), made.memory.size());
  EXPECT_EQ(read->memory.back().pattern, MemoryPattern::Pointwise);
  EXPECT_EQ(read->memory.back().bytes, made.memory.back().bytes);
  ASSERT_EQ(read->collectives.size(), made.collectives.size());
  for (size_t i = 0; i < made.collectives.size(); ++i) {
    EXPECT_EQ(nameOf(read->collectives[i].kind).str(), made.collectives[i].kind);
    EXPECT_EQ(read->collectives[i].level, "nvlink");
    EXPECT_EQ(read->collectives[i].ranks, made.collectives[i].ranks);
  }
}

// The stored file, which other tests read, is what the writer writes today.
TEST_F(GpuCurves, AreThoseOfTheStoredFile) {
  Result<std::string> stored = readFile(DTC_GPU_CURVES, int64_t(1) << 20);
  ASSERT_TRUE(stored.ok()) << stored.error().text();
  CurvesHead made = head();
  made.facts.name = "no GPU: made up by test/unit/calibrate/GpuCurvesTest.cpp";
  EXPECT_EQ(curvesText(made, points()), *stored);
}

// No two points are at the same place, because the reader would refuse them.
TEST_F(GpuCurves, HaveDistinctShapes) {
  for (bool quick : {false, true}) {
    std::set<std::tuple<Type, int64_t, int64_t, int64_t>> seen;
    for (const Product &product : trainingProducts(quick))
      EXPECT_TRUE(seen.insert({product.type, product.m, product.n, product.k}).second);
    EXPECT_GT(seen.size(), quick ? 100U : 500U);
  }
}

TEST_F(GpuCurves, AreOfOneSystem) {
  auto errorOf = [&](const std::string &file, const char *system) {
    Result<Calibration> read = readCurves(file, system);
    return read ? "no error" : read.error().text();
  };
  // An A100 has no fp8, and 108 multiprocessors.
  EXPECT_NE(errorOf(written(curvesText(head(), points())), "dgx-a100-80g")
                .find("'units' of launch 1 of [calibration] is 132"),
            std::string::npos);
  CurvesHead other = head();
  other.level = "nvlnk";
  EXPECT_NE(errorOf(written(curvesText(other, points())), "dgx-h100").find("did you mean 'nvlink'"),
            std::string::npos);
  EXPECT_NE(errorOf(written("name = \"x\"\n"), "dgx-h100").find("has no table [calibration]"),
            std::string::npos);
  EXPECT_NE(errorOf(written("[calibration\n"), "dgx-h100").find("gpu-curves.toml:1:"),
            std::string::npos);
}

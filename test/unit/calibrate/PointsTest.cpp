// Tests the text of points that ranks pass on, and the lists of shapes.
#include "compiler/measure/calibrate/Points.h"
#include "compiler/measure/calibrate/Shapes.h"

#include <gtest/gtest.h>

#include <set>

using namespace dtc;

TEST(Points, AreReadAsPrinted) {
  Calibration points;
  points.launches = {{false, 2, {1.25e-6, 7, 0.125}}};
  points.products = {{ComputeType::F32, 1, 2, 3, 4, 5, {0.1, 3, 0.5}}};
  points.memory = {{MemoryPattern::Pointwise, 4096, 2, {2e-5, 200, 0}}};
  AttentionPoint attention;
  attention.sequence = 512;
  attention.headDim = 64;
  attention.heads = 8;
  attention.causal = attention.backward = true;
  attention.time = {1e-3, 5, 0.25};
  points.attention = {attention};
  points.collectives = {{CollectiveKind::SendRecv, "", 2, 1024, {3e-6, 9, 1}}};
  Calibration read;
  Status done = readPoints(printPoints(points), "memory", read);
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(printPoints(read), printPoints(points));
  EXPECT_EQ(read.collectives[0].level, "memory");
  EXPECT_EQ(read.collectives[0].kind, CollectiveKind::SendRecv);
  EXPECT_EQ(read.attention[0].headDim, 64);
  EXPECT_TRUE(read.attention[0].backward);
  EXPECT_EQ(read.launches[0].time.seconds, 1.25e-6);
}

TEST(Points, OtherLinesAreRefused) {
  for (const char *line :
       {"something 1", "memory", "memory copy 1 1 1e-6 3", "memory copy 1 1 1e-6 3 0 4",
        "memory copy 1 1 0 3 0", "memory copy 1 1 1e-6 0 0", "memory swap 1 1 1e-6 3 0",
        "product f32 1 2 x 1 1 1e-6 3 0", "product f32 1 2 -3 1 1 1e-6 3 0"}) {
    Calibration read;
    Status done = readPoints(std::string("memory copy 8 1 1e-6 3 0\n") + line, "memory", read);
    ASSERT_FALSE(done.ok()) << line;
    EXPECT_NE(done.error().message.find("line 2"), std::string::npos) << done.error().message;
  }
}

TEST(Shapes, AreDistinct) {
  for (bool quick : {false, true}) {
    CalibrationShapes shapes = calibrationShapes(quick);
    std::set<std::vector<int64_t>> seen;
    for (const ProductShape &shape : shapes.products)
      EXPECT_TRUE(seen.insert({shape.m, shape.n, shape.k, shape.batch}).second);
    EXPECT_GE(shapes.products.size(), 15U);
    EXPECT_GE(shapes.memoryBytes.size(), 4U);
    EXPECT_GE(shapes.attention.size(), 4U);
    EXPECT_GE(shapes.collectiveBytes.size(), 4U);
  }
}

TEST(Shapes, RankCountsDivideTheCores) {
  EXPECT_EQ(rankCounts(1), std::vector<int64_t>());
  EXPECT_EQ(rankCounts(2), std::vector<int64_t>({2}));
  EXPECT_EQ(rankCounts(7), std::vector<int64_t>({7}));
  EXPECT_EQ(rankCounts(12), std::vector<int64_t>({2, 3, 6, 12}));
  EXPECT_EQ(rankCounts(64), std::vector<int64_t>({2, 8, 16, 64}));
}

// Tests interpolation at points, between them and beyond them.
#include "compiler/price/cost/Curves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace dtc;

TEST(PointCloud, IsExactAtPoints) {
  PointCloud cloud;
  std::minstd_rand random(1);
  std::vector<std::pair<PointCloud::Coordinates, double>> points;
  for (int i = 0; i < 200; ++i) {
    PointCloud::Coordinates coordinates;
    for (double &coordinate : coordinates)
      coordinate = static_cast<double>(random() % 16);
    bool isNew = true;
    for (const auto &[other, value] : points)
      isNew = isNew && other != coordinates;
    if (!isNew)
      continue;
    points.emplace_back(coordinates, 0.01 + static_cast<double>(random() % 1000) / 500);
    cloud.add(coordinates, points.back().second);
  }
  for (const auto &[coordinates, value] : points)
    EXPECT_NEAR(cloud.at(coordinates), value, 1e-12 * value);
}

TEST(PointCloud, IsTheGeometricMeanHalfWay) {
  PointCloud cloud;
  EXPECT_TRUE(cloud.isEmpty());
  cloud.add({10, 10}, 0.5);
  cloud.add({12, 10}, 1);
  EXPECT_NEAR(cloud.at({11, 10}), std::sqrt(0.5), 1e-12);
}

TEST(PointCloud, FallsBackToTheNearestBeyond) {
  PointCloud cloud;
  cloud.add({10, 10}, 0.5);
  cloud.add({12, 10}, 1);
  EXPECT_EQ(cloud.at({30, 10}), 1);
  EXPECT_EQ(cloud.at({-4, 10}), 0.5);
  EXPECT_EQ(cloud.at({10, 40}), 0.5); // only one value of the second coordinate was measured
}

TEST(PointCloud, StaysBetweenLeastAndGreatest) {
  PointCloud cloud;
  std::minstd_rand random(7);
  auto coordinates = [&] {
    PointCloud::Coordinates result;
    for (double &coordinate : result)
      coordinate = static_cast<double>(random() % 2000) / 100;
    return result;
  };
  for (int i = 0; i < 60; ++i)
    cloud.add(coordinates(), 0.2 + static_cast<double>(random() % 100) / 200);
  for (int i = 0; i < 1000; ++i) {
    double value = cloud.at(coordinates());
    EXPECT_GE(value, 0.2 - 1e-12);
    EXPECT_LE(value, 0.7);
  }
}

// The model has 10 us and 100 GB/s.
static double model(double bytes) { return 10e-6 + bytes / 100e9; }

TEST(ByteCurve, IsExactAtPointsAndRises) {
  ByteCurve curve;
  std::vector<std::pair<double, double>> points = {
      {1e3, 12e-6}, {1e4, 13e-6}, {1e5, 13e-6}, {1e6, 30e-6}, {1e8, 2e-3}};
  for (auto [bytes, seconds] : points)
    curve.add(bytes, seconds);
  for (auto [bytes, seconds] : points)
    EXPECT_NEAR(curve.at(bytes, model), seconds, 1e-12 * seconds);
  double last = 0;
  for (double bytes = 1; bytes < 1e12; bytes *= 1.07) {
    double seconds = curve.at(bytes, model);
    EXPECT_GE(seconds, last * (1 - 1e-12)) << bytes;
    last = seconds;
  }
}

TEST(ByteCurve, GoesOnAsTheModel) {
  ByteCurve curve;
  curve.add(1e4, 20e-6);
  curve.add(1e6, 40e-6);
  EXPECT_NEAR(curve.at(1e8, model), 40e-6 * model(1e8) / model(1e6), 1e-12);
  EXPECT_NEAR(curve.at(10, model), 20e-6 * model(10) / model(1e4), 1e-15);
  EXPECT_NEAR(curve.at(1e5, model), std::sqrt(20e-6 * 40e-6), 1e-12);
}

TEST(ByteCurve, TakesTheLessWhereMoreBytesWereFaster) {
  ByteCurve curve;
  curve.add(1e3, 10e-6);
  curve.add(1e4, 500e-6); // another program used the machine
  curve.add(1e5, 20e-6);
  EXPECT_NEAR(curve.at(1e4, model), 20e-6, 1e-12);
  EXPECT_NEAR(curve.at(1e3, model), 10e-6, 1e-12);
}

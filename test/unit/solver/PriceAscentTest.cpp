#include "compiler/search/solver/PriceAscent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace dtc::solver {
namespace {

// The least of some planes: the cost at prices p of assignments with these costs, which exceed two
// limits by these bytes.
struct Planes {
  std::vector<double> cost;
  std::vector<std::array<double, 2>> over;

  size_t least(const std::vector<double> &p) const {
    size_t best = 0;
    for (size_t k = 1; k < cost.size(); ++k)
      if (at(k, p) < at(best, p))
        best = k;
    return best;
  }
  double at(size_t k, const std::vector<double> &p) const {
    return cost[k] + p[0] * over[k][0] + p[1] * over[k][1];
  }
};

// Cheap planes exceed both limits and expensive ones none, so the best prices are between.
Planes randomPlanes(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  Planes planes;
  for (int k = 0; k < 12; ++k) {
    double a = share(random), b = share(random);
    planes.cost.push_back(100 + 40 * (a + b) + 10 * share(random));
    planes.over.push_back({20 * (0.6 - a), 20 * (0.6 - b)});
  }
  planes.cost.push_back(200);
  planes.over.push_back({-5, -5});
  return planes;
}

TEST(PriceAscent, ReachesTheTopOfConcaveFunctions) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Planes planes = randomPlanes(seed);
    // Slopes are below 17 per coordinate, so the top is less than 1 above the best point of this
    // grid.
    double top = 0;
    for (int x = 0; x <= 400; ++x)
      for (int y = 0; y <= 400; ++y) {
        std::vector<double> p{0.05 * x, 0.05 * y};
        top = std::max(top, planes.at(planes.least(p), p));
      }
    PriceAscent ascent({0, 0}, 0.1);
    for (int i = 0; i < 2000; ++i) {
      size_t least = planes.least(ascent.prices());
      if (ascent.see(planes.at(least, ascent.prices())))
        ASSERT_EQ(ascent.prices(), ascent.bestPrices());
      ascent.move({planes.over[least].begin(), planes.over[least].end()}, 1.1 * top);
      ASSERT_GE(std::min(ascent.prices()[0], ascent.prices()[1]), 0) << seed;
    }
    EXPECT_GT(ascent.bestValue(), 0.998 * top) << seed;
    EXPECT_LT(ascent.bestValue(), top + 1) << seed;
  }
}

// The best value may be at prices of 0.
TEST(PriceAscent, StaysAtZeroWhereNothingOverruns) {
  PriceAscent ascent({0, 0}, 0.1);
  for (int i = 0; i < 50; ++i) {
    ascent.see(10 - 3 * ascent.prices()[0] - ascent.prices()[1]);
    ascent.move({-3, -1}, 20);
  }
  EXPECT_EQ(ascent.prices(), (std::vector<double>{0, 0}));
  EXPECT_EQ(ascent.bestValue(), 10);
}

TEST(PriceAscent, GoesBackToTheBestPrices) {
  PriceAscent ascent({1}, 1);
  ASSERT_TRUE(ascent.see(100));
  EXPECT_FALSE(ascent.move({2}, 110));
  EXPECT_GT(ascent.prices()[0], 1);
  ASSERT_FALSE(ascent.see(50)); // far below: the next step starts from 1 and is shorter
  double first = ascent.prices()[0];
  EXPECT_TRUE(ascent.move({2}, 110));
  EXPECT_GT(ascent.prices()[0], 1);
  EXPECT_LT(ascent.prices()[0], first);
  EXPECT_EQ(ascent.bestPrices(), (std::vector<double>{1}));
  ascent.restart(0.5);
  EXPECT_EQ(ascent.prices(), (std::vector<double>{1}));
  EXPECT_TRUE(ascent.see(-5));
}

} // namespace
} // namespace dtc::solver

#include "compiler/search/solver/UsageLedger.h"

#include <gtest/gtest.h>

#include <random>

namespace dtc::solver {
namespace {

// 40 nodes of 3 values over 500 points of time.
Network randomNetwork(std::mt19937_64 &random) {
  Network network;
  network.capacity.assign(500, 400);
  for (int node = 0; node < 40; ++node) {
    network.unary.insert(network.unary.end(), 3, 0.0);
    network.first.push_back(static_cast<int32_t>(network.unary.size()));
    network.firstNeighbour.push_back(0);
    auto begin = static_cast<int32_t>(random() % 400),
         end = begin + 1 + static_cast<int32_t>(random() % 99);
    network.pieces.push_back({begin, end, static_cast<int64_t>(network.usages.size())});
    network.firstPiece.push_back(static_cast<int32_t>(network.pieces.size()));
    for (int value = 0; value < 3; ++value)
      network.usages.push_back(static_cast<int64_t>(random() % 100));
  }
  return network;
}

TEST(UsageLedger, FollowsChangesAsIfCountedAnew) {
  std::mt19937_64 random(7);
  Network network = randomNetwork(random);
  std::vector<int32_t> choice(40, 0);
  UsageLedger ledger(network);
  ledger.assign(choice);
  int over = 0;
  for (int step = 0; step < 500; ++step) {
    auto node = static_cast<int32_t>(random() % 40), to = static_cast<int32_t>(random() % 3);
    ledger.change(node, choice[node], to);
    choice[node] = to;
    std::vector<int64_t> left = network.capacity;
    for (int32_t i = 0; i < 40; ++i)
      for (int32_t t = network.pieces[i].begin; t < network.pieces[i].end; ++t)
        left[t] -= network.usages[network.pieces[i].offset + choice[i]];
    double overload = 0;
    int32_t tightest = 0;
    for (int32_t t = 0; t < 500; ++t) {
      ASSERT_EQ(ledger.leftAt(t), left[t]) << step;
      overload += static_cast<double>(std::max<int64_t>(0, -left[t]));
      tightest = left[t] < left[tightest] ? t : tightest;
    }
    ASSERT_EQ(ledger.leftAt(ledger.tightest()), left[tightest]) << step;
    ASSERT_EQ(ledger.overload(), overload) << step;
    ASSERT_EQ(ledger.fits(), overload == 0) << step;
    over += overload > 0;
  }
  EXPECT_GT(over, 0);
  EXPECT_LT(over, 500);
}

} // namespace
} // namespace dtc::solver

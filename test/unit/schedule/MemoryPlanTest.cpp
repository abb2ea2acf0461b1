// Tests of passes/schedule/MemoryPlan.
#include "passes/schedule/MemoryPlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace dtc;

namespace {
bool liveTogether(const PlannedBuffer &a, const PlannedBuffer &b) {
  return a.begin <= b.end && b.begin <= a.end;
}

void expectValid(const std::vector<PlannedBuffer> &buffers, const MemoryPlan &plan) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t begin = plan.getOffset(i), end = begin + buffers[i].bytes;
    EXPECT_EQ(begin % kBufferAlignment, 0);
    EXPECT_GE(begin, 0);
    EXPECT_LE(end, plan.getArenaBytes());
    for (size_t j = 0; j < i; ++j) {
      if (!liveTogether(buffers[i], buffers[j]))
        continue;
      int64_t otherBegin = plan.getOffset(j), otherEnd = otherBegin + buffers[j].bytes;
      EXPECT_TRUE(end <= otherBegin || otherEnd <= begin) << i << " and " << j;
    }
  }
}

// Returns the smallest arena over all orders of placing each buffer as low as it fits. One order
// gives an optimal plan: that of ascending offsets in an optimal plan whose buffers are as low as
// possible.
int64_t bestArena(const std::vector<PlannedBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    std::vector<int64_t> offsets(buffers.size());
    int64_t arena = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const PlannedBuffer &buffer = buffers[order[i]];
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (size_t j = 0; j < i; ++j)
        if (liveTogether(buffer, buffers[order[j]]))
          taken.emplace_back(offsets[order[j]], offsets[order[j]] + buffers[order[j]].bytes);
      std::sort(taken.begin(), taken.end());
      int64_t offset = 0;
      for (auto [begin, end] : taken) {
        if (begin - offset >= buffer.bytes)
          break;
        offset = std::max(offset, end);
      }
      offsets[order[i]] = offset;
      arena = std::max(arena, offset + buffer.bytes);
    }
    best = std::min(best, arena);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// Returns the offsets by a look at every buffer that is placed, the largest buffers first.
std::vector<int64_t> bestFits(const std::vector<PlannedBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-buffers[a].bytes, a) < std::pair(-buffers[b].bytes, b);
  });
  std::vector<int64_t> offsets(buffers.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const PlannedBuffer &buffer = buffers[order[i]];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j = 0; j < i; ++j)
      if (liveTogether(buffer, buffers[order[j]]))
        taken.emplace_back(offsets[order[j]], offsets[order[j]] + buffers[order[j]].bytes);
    std::sort(taken.begin(), taken.end());
    int64_t top = 0, best = -1, smallest = std::numeric_limits<int64_t>::max();
    for (auto [begin, end] : taken) {
      if (begin - top >= buffer.bytes && begin - top < smallest) {
        smallest = begin - top;
        best = top;
      }
      top = std::max(top, end);
    }
    offsets[order[i]] = best >= 0 ? best : top;
  }
  return offsets;
}

// So many buffers that the placed ones are in several runs. With an arena that is good enough at
// once, the first order is the only one.
TEST(MemoryPlan, FitsManyBuffersBest) {
  std::mt19937 random(7);
  auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % bound); };
  for (int64_t longest : {3, 40, 900}) {
    std::vector<PlannedBuffer> buffers;
    for (int64_t i = 0; i < 900; ++i) {
      int64_t begin = below(900);
      buffers.push_back({below(12) * kBufferAlignment, begin, begin + below(longest)});
    }
    MemoryPlan plan(buffers, std::numeric_limits<int64_t>::max());
    std::vector<int64_t> wanted = bestFits(buffers);
    for (size_t i = 0; i < buffers.size(); ++i)
      ASSERT_EQ(plan.getOffset(i), wanted[i]) << "buffer " << i << " of up to " << longest;
  }
}

// 48 buffers that are live one after another lie at 0. What comes next makes a run of its own: one
// buffer at 0 and 24 above the highest of the 48, all live together with the last one, which fits
// exactly between the first two of them.
TEST(MemoryPlan, FitsExactlyIntoAGapOfARun) {
  constexpr int64_t unit = kBufferAlignment;
  std::vector<PlannedBuffer> buffers;
  for (int64_t time = 100; time < 148; ++time)
    buffers.push_back({6 * unit, time, time});
  buffers.push_back({4 * unit, 0, 20});
  for (int64_t end : {100, 20})
    for (int64_t i = 0; i < (end == 100 ? 1 : 23); ++i)
      buffers.push_back({3 * unit, 0, end});
  buffers.push_back({2 * unit, 0, 20});
  MemoryPlan plan(buffers, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(plan.getOffset(buffers.size() - 1), 4 * unit);
  EXPECT_EQ(plan.getOffset(49), 6 * unit);
}
} // namespace

TEST(MemoryPlan, ReusesWhatIsOver) {
  std::vector<PlannedBuffer> buffers = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  MemoryPlan plan(buffers);
  expectValid(buffers, plan);
  EXPECT_EQ(plan.getArenaBytes(), 128);
  EXPECT_EQ(plan.getOffset(0), plan.getOffset(2));
}

TEST(MemoryPlan, RoundsUpToTheAlignment) {
  MemoryPlan plan({{4, 0, 1}, {1, 0, 1}});
  EXPECT_EQ(plan.getArenaBytes(), 128);
  EXPECT_EQ(plan.getLowerBound(), 128);
}

TEST(MemoryPlan, OfNothingIsEmpty) {
  MemoryPlan plan({});
  EXPECT_EQ(plan.getArenaBytes(), 0);
  EXPECT_EQ(plan.getLowerBound(), 0);
}

// Ends are included: a buffer that ends where another begins is live with it.
TEST(MemoryPlan, CountsBothEndsAsLive) {
  MemoryPlan plan({{64, 0, 5}, {64, 5, 9}});
  EXPECT_EQ(plan.getArenaBytes(), 128);
  MemoryPlan apart({{64, 0, 4}, {64, 5, 9}});
  EXPECT_EQ(apart.getArenaBytes(), 64);
}

// On 300 random cases of up to 7 buffers the plan is always valid, never better than the best or
// the bound, mostly the best, and within a quarter of it.
TEST(MemoryPlan, IsCloseToTheBestPlan) {
  std::mt19937 random(7);
  int optimal = 0;
  constexpr int kCases = 300;
  for (int c = 0; c < kCases; ++c) {
    std::vector<PlannedBuffer> buffers(2 + random() % 6);
    for (PlannedBuffer &buffer : buffers) {
      int64_t begin = random() % 8;
      buffer = {static_cast<int64_t>(64 * (1 + random() % 6)), begin,
                begin + static_cast<int64_t>(random() % 5)};
    }
    MemoryPlan plan(buffers);
    expectValid(buffers, plan);
    int64_t best = bestArena(buffers);
    EXPECT_LE(plan.getLowerBound(), best);
    EXPECT_GE(plan.getArenaBytes(), best);
    EXPECT_LE(4 * plan.getArenaBytes(), 5 * best);
    optimal += plan.getArenaBytes() == best;
  }
  EXPECT_GE(optimal, kCases * 9 / 10);
}

// Ordered by size, by area, by life and by start, one of the middle buffers is placed last and
// increases the arena. If it is placed first, it does not.
TEST(MemoryPlan, PlacesFirstWhatSticksOut) {
  std::vector<PlannedBuffer> buffers = {
      {192, 2, 5}, {128, 2, 4}, {256, 0, 0}, {192, 0, 2}, {128, 3, 3}};
  MemoryPlan plan(buffers);
  expectValid(buffers, plan);
  EXPECT_EQ(plan.getArenaBytes(), 512);
  EXPECT_EQ(plan.getLowerBound(), 512);
}

// A training step has chains of saved activations, which the backward pass reads in reverse order.
TEST(MemoryPlan, MeetsTheBoundOnNestedLives) {
  std::vector<PlannedBuffer> buffers;
  constexpr int64_t kLayers = 50;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    buffers.push_back({64 * (1 + layer % 3), layer, 2 * kLayers - layer});
    buffers.push_back({256, layer, layer + 1});
    buffers.push_back({256, 2 * kLayers - layer, 2 * kLayers - layer + 1});
  }
  MemoryPlan plan(buffers);
  expectValid(buffers, plan);
  EXPECT_EQ(plan.getArenaBytes(), plan.getLowerBound());
}

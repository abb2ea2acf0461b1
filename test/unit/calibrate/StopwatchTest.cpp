// Tests medians and the budget of a measurement.
#include "compiler/measure/calibrate/Stopwatch.h"
#include "runtime/comm/Loopback.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

using namespace dtc;

TEST(Summarize, GivesMedianAndQuartiles) {
  EXPECT_EQ(summarize({3, 1, 2}).seconds, 2);
  Measured four = summarize({4, 1, 3, 2});
  EXPECT_EQ(four.seconds, 2.5);
  EXPECT_EQ(four.repeats, 4);
  EXPECT_DOUBLE_EQ(four.spread, (3.25 - 1.75) / 2.5);
  EXPECT_EQ(summarize({5}).seconds, 5);
  EXPECT_EQ(summarize({5}).spread, 0);
}

TEST(Stopwatch, TimesARun) {
  std::unique_ptr<rt::Comm> world = std::move(rt::makeLoopbackWorld(1, 60)[0]);
  Stopwatch watch(*world, 0.1, 2);
  int runs = 0;
  std::optional<Measured> time;
  auto sleep = [&] {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return rt::Status();
  };
  ASSERT_TRUE(watch.time(sleep, time).ok());
  ASSERT_TRUE(time.has_value());
  EXPECT_GE(time->seconds, 2e-3);
  EXPECT_GE(time->repeats, 3);
  EXPECT_EQ(runs, time->repeats + 2);
}

TEST(Stopwatch, BatchesShortRuns) {
  std::unique_ptr<rt::Comm> world = std::move(rt::makeLoopbackWorld(1, 60)[0]);
  Stopwatch watch(*world, 0.05, 1);
  int64_t runs = 0;
  std::optional<Measured> time;
  ASSERT_TRUE(watch
                  .time(
                      [&] {
                        ++runs;
                        return rt::Status();
                      },
                      time)
                  .ok());
  ASSERT_TRUE(time.has_value());
  EXPECT_GT(runs, 2 * time->repeats);
  EXPECT_GE(time->seconds, 1e-9);
}

TEST(Stopwatch, StopsAfterFiveBudgets) {
  std::unique_ptr<rt::Comm> world = std::move(rt::makeLoopbackWorld(1, 60)[0]);
  Stopwatch watch(*world, 1e-3, 2);
  std::optional<Measured> first, second;
  auto sleep = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return rt::Status();
  };
  ASSERT_TRUE(watch.time(sleep, first).ok());
  EXPECT_TRUE(first.has_value());
  ASSERT_TRUE(watch.time(sleep, second).ok());
  EXPECT_FALSE(second.has_value());
  EXPECT_EQ(watch.skipped(), 1U);
}

TEST(Stopwatch, PassesErrorsOn) {
  std::unique_ptr<rt::Comm> world = std::move(rt::makeLoopbackWorld(1, 60)[0]);
  Stopwatch watch(*world, 1, 1);
  std::optional<Measured> time;
  rt::Status status = watch.time([] { return rt::Status::internal("broken"); }, time);
  EXPECT_EQ(status.message(), "broken");
  EXPECT_FALSE(time.has_value());
}

// All ranks repeat as often as rank 0 decides, and the slowest one counts.
TEST(Stopwatch, AgreesAmongRanks) {
  std::vector<std::unique_ptr<rt::Comm>> worlds = rt::makeLoopbackWorld(2, 60);
  std::optional<Measured> times[2];
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Stopwatch watch(*worlds[rank], 0.05, 1);
      auto sleep = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(rank == 1 ? 4 : 1));
        return rt::Status();
      };
      EXPECT_TRUE(watch.time(sleep, times[rank]).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_TRUE(times[0] && times[1]);
  EXPECT_EQ(times[0]->repeats, times[1]->repeats);
  EXPECT_EQ(times[0]->seconds, times[1]->seconds);
  EXPECT_GE(times[0]->seconds, 4e-3);
}

#include "kernels/cpu/ThreadPool.h"

#include <atomic>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <vector>

namespace dtc::cpu {
namespace {

TEST(ThreadPool, CoversTheRangeOnceInMultiplesOfTheGrain) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int64_t range : {1, 2, 10, 31, 1000, 4097})
      for (int64_t grain : {1, 4, 7, 5000}) {
        std::vector<std::atomic<int>> hits(range);
        std::atomic<bool> aligned{true};
        pool.parallelFor(range, grain, [&](int64_t begin, int64_t end) {
          if (begin >= end || begin % grain != 0 || (end != range && end % grain != 0))
            aligned = false;
          for (int64_t i = begin; i < end; ++i)
            hits[i].fetch_add(1);
        });
        EXPECT_TRUE(aligned) << threads << " threads, range " << range << ", grain " << grain;
        for (auto &hit : hits)
          ASSERT_EQ(hit.load(), 1) << threads << " threads, range " << range << ", grain " << grain;
      }
  }
}

TEST(ThreadPool, DoesNotCallTheBodyForAnEmptyRange) {
  ThreadPool pool(3);
  int calls = 0;
  pool.parallelFor(0, 1, [&](int64_t, int64_t) { ++calls; });
  pool.parallelFor(-5, 1, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST(ThreadPool, TreatsAGrainBelowOneAsOne) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  pool.parallelFor(100, 0, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

TEST(ThreadPool, RunsLoopsInsideLoopsInline) {
  ThreadPool pool(3);
  std::atomic<int> inner{0};
  std::atomic<bool> sameThread{true};
  pool.parallelFor(20, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::thread::id self = std::this_thread::get_id();
      pool.parallelFor(10, 1, [&](int64_t first, int64_t last) {
        if (std::this_thread::get_id() != self)
          sameThread = false;
        inner += static_cast<int>(last - first);
      });
    }
  });
  EXPECT_EQ(inner, 200);
  EXPECT_TRUE(sameThread);
}

TEST(ThreadPool, UsesAllThreadsWhenAllAreNeeded) {
  // Each piece waits until all three have begun, which is possible only with three threads.
  ThreadPool pool(3);
  std::atomic<int> begun{0};
  pool.parallelFor(3, 1, [&](int64_t, int64_t) {
    begun.fetch_add(1);
    while (begun.load() < 3)
      std::this_thread::yield();
  });
  EXPECT_EQ(begun, 3);
}

TEST(ThreadPool, TakesLoopsFromTwoThreadsAtOnce) {
  ThreadPool pool(2);
  std::vector<int64_t> sums(2);
  std::vector<std::thread> streams;
  for (int stream = 0; stream < 2; ++stream)
    streams.emplace_back([&, stream] {
      for (int loop = 0; loop < 500; ++loop) {
        std::atomic<int64_t> sum{0};
        pool.parallelFor(64, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            sum += i;
        });
        sums[stream] += sum;
      }
    });
  for (std::thread &stream : streams)
    stream.join();
  EXPECT_EQ(sums[0], 500 * 63 * 64 / 2);
  EXPECT_EQ(sums[1], 500 * 63 * 64 / 2);
}

TEST(ThreadPool, WakesAfterSleeping) {
  ThreadPool pool(4);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // longer than the spin
    std::atomic<int64_t> sum{0};
    pool.parallelFor(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 1000);
  }
}

} // namespace
} // namespace dtc::cpu

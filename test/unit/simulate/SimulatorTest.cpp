// Simulations by hand: streams, links, slowdown, deadlocks, the critical path, and speed.
#include "compiler/show/simulate/Simulator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

using namespace dtc;

namespace {

constexpr auto compute = SimTaskKind::Compute;
constexpr auto transfer = SimTaskKind::Transfer;

// Devices with a compute stream (2 i) and a communication stream (2 i + 1) each.
Simulation devices(int count, double slowdown = 1) {
  Simulation simulation;
  for (int i = 0; i < count; ++i) {
    int device = simulation.addDevice({"gpu " + std::to_string(i), slowdown});
    simulation.addStream({device, "compute"});
    simulation.addStream({device, "comm"});
  }
  return simulation;
}

void expectTime(const SimResult &result, int task, double start, double end) {
  EXPECT_DOUBLE_EQ(result.tasks[task].start, start) << "task " << task;
  EXPECT_DOUBLE_EQ(result.tasks[task].end, end) << "task " << task;
}

} // namespace

TEST(Simulation, RunsTheHeadersExample) {
  Simulation simulation;
  int gpu = simulation.addDevice({"gpu 0"});
  int compute = simulation.addStream({gpu, "compute"}), comm = simulation.addStream({gpu, "comm"});
  int link = simulation.addLink({"nvlink", 450e9});
  int work = simulation.addTask({SimTaskKind::Compute, "matmul", {compute}, {}, 1e-3});
  simulation.addTask({SimTaskKind::Transfer, "send", {comm}, {work}, 5e-6, 1e6, {link}});
  Result<SimResult> result = simulation.run();
  ASSERT_TRUE(result.ok()) << result.error().text();
  expectTime(*result, 0, 0, 1e-3);
  expectTime(*result, 1, 1e-3, 1e-3 + 5e-6 + 1e6 / 450e9);
  EXPECT_EQ(result->criticalPath, (std::vector<int>{0, 1}));
  EXPECT_NEAR(result->linkUtilisation[0], 1e6 / 450e9 / result->makespan, 1e-12);
  EXPECT_NEAR(result->streamUtilisation[0], 1e-3 / result->makespan, 1e-12);
}

TEST(Simulation, OfNothingTakesNoTime) {
  Result<SimResult> result = Simulation().run();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->makespan, 0);
  EXPECT_TRUE(result->criticalPath.empty());
}

TEST(Simulation, KeepsTheOrderOfAStream) {
  Simulation simulation = devices(2);
  int slow = simulation.addTask({compute, "slow", {2}, {}, 5});
  int first = simulation.addTask({compute, "first", {0}, {slow}, 1});
  int second = simulation.addTask({compute, "second", {0}, {}, 1}); // could start at once
  SimResult result = *simulation.run();
  expectTime(result, first, 5, 6);
  expectTime(result, second, 6, 7);
  EXPECT_EQ(result.criticalPath, (std::vector<int>{slow, first, second}));
  EXPECT_DOUBLE_EQ(result.streamUtilisation[0], 2.0 / 7);
}

// 100 and 50 bytes at 10 bytes/s: half each until 10 s, then the rest of the first alone.
TEST(Simulation, TransfersShareALink) {
  Simulation simulation = devices(2);
  int link = simulation.addLink({"link", 10});
  int large = simulation.addTask({transfer, "large", {1}, {}, 0, 100, {link}});
  int small = simulation.addTask({transfer, "small", {3}, {}, 0, 50, {link}});
  SimResult result = *simulation.run();
  expectTime(result, small, 0, 10);
  expectTime(result, large, 0, 15);
  EXPECT_DOUBLE_EQ(result.linkUtilisation[0], 1);
}

// The second comes 2 s later, after its latency: 20 bytes of the first are gone by then.
TEST(Simulation, LatencyTakesNoBandwidth) {
  Simulation simulation = devices(2);
  int link = simulation.addLink({"link", 10});
  int first = simulation.addTask({transfer, "first", {1}, {}, 0, 40, {link}});
  int second = simulation.addTask({transfer, "second", {3}, {}, 2, 20, {link}});
  SimResult result = *simulation.run();
  expectTime(result, first, 0, 6);
  expectTime(result, second, 0, 6);
}

// Link a (10 bytes/s) carries 0 and 1, link b (3 bytes/s) 1 and 2: 1 and 2 have 1.5 each, 0 the
// other 8.5 of a.
TEST(Simulation, SharesAreMaxMinFair) {
  Simulation simulation = devices(3);
  int a = simulation.addLink({"a", 10}), b = simulation.addLink({"b", 3});
  int zero = simulation.addTask({transfer, "0", {1}, {}, 0, 85, {a}});
  int one = simulation.addTask({transfer, "1", {3}, {}, 0, 15, {a, b}});
  int two = simulation.addTask({transfer, "2", {5}, {}, 0, 15, {b}});
  SimResult result = *simulation.run();
  expectTime(result, zero, 0, 10);
  expectTime(result, one, 0, 10);
  expectTime(result, two, 0, 10);
}

TEST(Simulation, BytesWithoutARouteTakeNoTime) {
  Simulation simulation = devices(1);
  int task = simulation.addTask({transfer, "local", {1}, {}, 3, 1e9, {}});
  expectTime(*simulation.run(), task, 0, 3);
}

// Computing alone until 2 s, at 1 / 1.25 until 7 s (4 s of work), alone again for the last 4 s.
TEST(Simulation, TransfersSlowComputation) {
  Simulation simulation = devices(2, 1.25);
  int wait = simulation.addTask({compute, "wait", {2}, {}, 2});
  int work = simulation.addTask({compute, "work", {0}, {}, 10});
  int message = simulation.addTask({transfer, "message", {1}, {wait}, 5});
  int other = simulation.addTask({compute, "other device", {2}, {}, 4});
  SimResult result = *simulation.run();
  expectTime(result, message, 2, 7);
  expectTime(result, work, 0, 11);
  expectTime(result, other, 2, 6);
}

// Both ends of a message; a collective of three.
TEST(Simulation, TransfersWaitForAllTheirStreams) {
  Simulation simulation = devices(3, 2);
  simulation.addTask({compute, "a", {0}, {}, 1});
  int b = simulation.addTask({compute, "b", {2}, {}, 3});
  int c = simulation.addTask({transfer, "c", {1}, {}, 2});
  int all = simulation.addTask({transfer, "all", {1, 3, 5}, {b}, 1});
  int after = simulation.addTask({compute, "after", {4}, {}, 2});
  SimResult result = *simulation.run();
  expectTime(result, c, 0, 2);
  expectTime(result, all, 3, 4);
  expectTime(result, after, 0, 2);
  EXPECT_DOUBLE_EQ(result.streamUtilisation[5], 0.25);
  EXPECT_EQ(result.criticalPath, (std::vector<int>{b, all}));
}

TEST(Simulation, NamesTheTasksOfADeadlock) {
  Simulation simulation = devices(2);
  // Device 0 sends x before it receives y; device 1 the other way round.
  int x = simulation.addTask({transfer, "x", {1}, {}, 1});
  int y = simulation.addTask({transfer, "y", {3}, {}, 1});
  int useX = simulation.addTask({compute, "use x", {2}, {x}, 1});
  int useY = simulation.addTask({compute, "use y", {0}, {y}, 1});
  ASSERT_TRUE(simulation.run().ok());
  simulation.addDependency(x, useY);
  simulation.addDependency(y, useX);
  EXPECT_EQ(simulation.run().error().text(),
            "error: simulating: deadlock, 'x' (gpu 0, comm) waits for 'use y' (gpu 0, compute) "
            "waits for 'y' (gpu 1, comm) waits for 'use x' (gpu 1, compute) waits for 'x'\n"
            "note: give every stream the same order of messages at both ends");
}

// Collectives in another order on another rank: the usual mistake.
TEST(Simulation, FindsCollectivesInDifferentOrders) {
  Simulation simulation = devices(2);
  int later = simulation.addTask({compute, "before b", {0}, {}, 1});
  simulation.addTask({transfer, "a", {1, 3}, {}, 1});
  int b = simulation.addTask({transfer, "b", {1, 3}, {later}, 1});
  simulation.addDependency(1, b);
  Result<SimResult> result = simulation.run();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "simulating: deadlock, 'a' (gpu 0, comm) waits for 'b' (gpu 0, comm) waits for 'a'");
}

TEST(Simulation, RefusesWhatCannotBe) {
  auto errorOf = [](SimTask task) {
    Simulation simulation = devices(1);
    simulation.addLink({"link", 10});
    simulation.addTask(std::move(task));
    Result<SimResult> result = simulation.run();
    return result ? std::string() : result.error().message;
  };
  EXPECT_EQ(errorOf({compute, "good", {0}, {}, 1}), "");
  EXPECT_EQ(errorOf({compute, "t", {}, {}, 1}),
            "simulating task 't': it names no stream, or one that there is not");
  EXPECT_NE(errorOf({compute, "t", {2}, {}, 1}), "");
  EXPECT_EQ(errorOf({compute, "t", {1, 1}, {}, 1}),
            "simulating task 't': it names stream 'comm' twice");
  EXPECT_NE(errorOf({compute, "t", {0}, {7}, 1}), "");
  EXPECT_NE(errorOf({compute, "t", {0}, {0}, 1}), ""); // waits for itself
  EXPECT_NE(errorOf({compute, "t", {0}, {}, -1}), "");
  EXPECT_NE(errorOf({compute, "t", {0}, {}, 1, 5, {0}}), "");
  EXPECT_NE(errorOf({transfer, "t", {0}, {}, 1, 5, {1}}), "");
  Simulation simulation = devices(1, 0.5);
  EXPECT_EQ(simulation.run().error().message,
            "simulating device 'gpu 0': its computations take 0.500000 times as long beside "
            "transfers, wanted 1 or more");
  simulation = devices(1);
  simulation.addLink({"cut", 0});
  EXPECT_EQ(simulation.run().error().message,
            "simulating link 'cut': it carries 0.000000 bytes/s, wanted more than 0");
}

namespace {

// `steps` rounds of compute and transfers around a ring of devices, two links each in the route.
Simulation ringOf(int count, int steps, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> jitter(0.5, 1.5);
  Simulation simulation = devices(count, 1.1);
  for (int i = 0; i < count; ++i)
    simulation.addLink({"link", 100});
  std::vector<int> last(count, -1);
  for (int step = 0; step < steps; ++step) {
    std::vector<int> sent(count);
    for (int i = 0; i < count; ++i) {
      SimTask work{compute, "w", {2 * i}, {}, jitter(random)};
      if (last[i] >= 0)
        work.dependencies.push_back(last[i]);
      int done = simulation.addTask(std::move(work));
      sent[i] = simulation.addTask(
          {transfer, "t", {2 * i + 1}, {done}, 0.01, 30 * jitter(random), {i, (i + 1) % count}});
    }
    for (int i = 0; i < count; ++i)
      last[(i + 1) % count] = sent[i];
  }
  return simulation;
}

} // namespace

// No device beats its own work; no link carries more than it can.
TEST(Simulation, KeepsItsBounds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Simulation simulation = ringOf(2 + seed % 7, 40, seed);
    SimResult result = *simulation.run();
    for (double share : result.linkUtilisation)
      EXPECT_LE(share, 1 + 1e-9);
    for (double share : result.streamUtilisation)
      EXPECT_LE(share, 1 + 1e-9);
    auto tasks = simulation.allTasks();
    for (size_t task = 0; task < tasks.size(); ++task) {
      SimTime time = result.tasks[task];
      EXPECT_GE(time.end - time.start, tasks[task].seconds + tasks[task].bytes / 100 - 1e-9);
      if (tasks[task].kind == compute) {
        EXPECT_LE(time.end - time.start, tasks[task].seconds * 1.1 + 1e-9);
      }
      for (int dependency : tasks[task].dependencies)
        EXPECT_GE(time.start, result.tasks[dependency].end);
    }
    // Nothing waits between the tasks of the critical path.
    for (size_t i = 1; i < result.criticalPath.size(); ++i)
      EXPECT_EQ(result.tasks[result.criticalPath[i]].start,
                result.tasks[result.criticalPath[i - 1]].end);
    EXPECT_EQ(result.tasks[result.criticalPath.front()].start, 0);
    EXPECT_EQ(result.tasks[result.criticalPath.back()].end, result.makespan);
  }
}

TEST(Simulation, IsDeterministic) {
  SimResult a = *ringOf(8, 50, 3).run(), b = *ringOf(8, 50, 3).run();
  for (size_t task = 0; task < a.tasks.size(); ++task) {
    EXPECT_EQ(a.tasks[task].start, b.tasks[task].start);
    EXPECT_EQ(a.tasks[task].end, b.tasks[task].end);
  }
  EXPECT_EQ(a.criticalPath, b.criticalPath);
}

// Every transfer of 64 devices over one switch: all rates change at every start and end.
TEST(Simulation, OfOneSharedLinkIsQuick) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> jitter(0.5, 1.5);
  Simulation simulation = devices(64);
  int link = simulation.addLink({"switch", 6400});
  for (int step = 0; step < 800; ++step)
    for (int i = 0; i < 64; ++i) {
      int work = simulation.addTask({compute, "w", {2 * i}, {}, jitter(random)});
      simulation.addTask({transfer, "t", {2 * i + 1}, {work}, 0, 90 * jitter(random), {link}});
    }
  auto start = std::chrono::steady_clock::now();
  SimResult result = *simulation.run();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%zu tasks: %.2f s\n", simulation.allTasks().size(), seconds);
  EXPECT_GT(result.linkUtilisation[link], 0.8);
  EXPECT_LT(seconds, 20); // about 0.1 s in a release build on an idle machine
}

TEST(Simulation, OfManyTasksIsQuick) {
  Simulation simulation = ringOf(32, 1600, 9); // 102,400 tasks
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(simulation.run().ok());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%zu tasks: %.2f s\n", simulation.allTasks().size(), seconds);
  EXPECT_LT(seconds, 20); // about 0.1 s in a release build on an idle machine
}

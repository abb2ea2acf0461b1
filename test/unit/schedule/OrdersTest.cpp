// Steps on a device that runs nothing until the test says what: in every order that streams and events
// allow, with the host ahead by several steps, they leave the same bits as on the CPU.
//
// How orders are enumerated: a state is how far each stream is. From each state every stream that may
// go on does, and a state that is reached on several ways must have the same memory on all of them.
// Then all orders lead to the same memory, however many they are. Of several ranks each is explored by
// itself: what the others bring to its collectives is that of a first run, and that this rank brings the
// same in every order is checked, too. So no order of the ranks among each other is left out.
#include "test/unit/exec/FakeDevice.h"
#include "test/unit/schedule/StepProgram.h"

#include <cstdio>
#include <map>
#include <random>
#include <set>

namespace dtc::test {
namespace {

using rt::Executor;

// What a rank's steps gave.
struct Result {
  std::vector<float> losses, norms, parameters;
  bool operator==(const Result &other) const = default;
};

// On the CPU, one step after the other.
std::vector<Result> runPlainly(const std::vector<uint8_t> &file, const Shape &shape,
                               int64_t steps) {
  std::vector<Result> results(static_cast<size_t>(shape.dp * shape.tp));
  runRanks(
      static_cast<int>(results.size()), file,
      [&](int rank, Executor &executor, rt::Device &device) {
        Result &result = results[static_cast<size_t>(rank)];
        fillParameters(executor, device, shape);
        for (int64_t step = 0; step < steps; ++step) {
          writeTokens(executor, shape, rank, step);
          ASSERT_TRUE(executor.setScalars({static_cast<uint64_t>(step) + 1, 9, 1e-2f, 3}).ok());
          rt::StepResult found;
          ASSERT_TRUE(executor.runStep(found).ok());
          result.losses.push_back(found.loss);
          result.norms.push_back(found.gradNorm);
        }
        result.parameters = readParameters(executor, device);
      });
  return results;
}

// All ranks of a job on fake devices, whose host has enqueued `steps` steps before anything ran.
class Job {
public:
  Job(const std::vector<uint8_t> &file, const Shape &shape, int64_t steps,
      const Faults &faults = {})
      : ranks(static_cast<int>(shape.dp * shape.tp)), steps(steps), fakes(ranks) {
    EXPECT_TRUE(rt::Executable::fromBytes(file, "test.dte", executable).ok());
    auto worlds = rt::makeLoopbackWorld(ranks, 60);
    executors.resize(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      devices.push_back(std::make_unique<FakeDevice>(fakes, rank, rank == 0 ? faults : Faults()));
    for (size_t rank = 0; rank < devices.size(); ++rank)
      threads.emplace_back([&, rank] {
        rt::ExecutorOptions options{.stepsAhead = static_cast<size_t>(steps)};
        EXPECT_TRUE(
            Executor::create(*executable, *worlds[rank], *devices[rank], options, executors[rank])
                .ok());
      });
    for (std::thread &thread : threads)
      thread.join();
    controls = std::move(worlds);
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      fillParameters(*executors[rank], *devices[rank], shape);
      for (int64_t step = 0; step < steps; ++step) {
        writeTokens(*executors[rank], shape, static_cast<int>(rank), step);
        auto number = static_cast<uint64_t>(step) + 1;
        EXPECT_TRUE(executors[rank]->setScalars({number, 9, 1e-2f, 3}).ok());
        EXPECT_TRUE(executors[rank]->enqueue(format::EntryKind::train).ok());
      }
    }
  }

  // Runs all of it, next the stream of the rank that `choose` picks of those that may go on.
  void runAll(const std::function<size_t(size_t)> &choose) {
    std::vector<std::pair<FakeDevice *, size_t>> ready;
    do {
      ready.clear();
      for (auto &device : devices)
        for (size_t stream = 0; stream < device->numStreams(); ++stream)
          if (device->canRun(stream))
            ready.push_back({device.get(), stream});
      if (!ready.empty()) {
        auto [device, stream] = ready[choose(ready.size())];
        EXPECT_TRUE(device->run(stream));
      }
    } while (!ready.empty());
    for (auto &device : devices)
      EXPECT_TRUE(device->isIdle()) << "what is enqueued waits for ever";
  }

  std::vector<Result> collect() {
    std::vector<Result> results(devices.size());
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      for (int64_t step = 0; step < steps; ++step) {
        rt::StepResult found;
        rt::Status status = executors[rank]->collect(found);
        EXPECT_TRUE(status.ok()) << status.message();
        results[rank].losses.push_back(found.loss);
        results[rank].norms.push_back(found.gradNorm);
      }
      results[rank].parameters = readParameters(*executors[rank], *devices[rank]);
    }
    return results;
  }

  int ranks;
  int64_t steps;
  FakeJob fakes;
  std::unique_ptr<rt::Executable> executable;
  std::vector<std::unique_ptr<rt::Comm>> controls;
  std::vector<std::unique_ptr<FakeDevice>> devices;
  std::vector<std::unique_ptr<Executor>> executors;
};

struct Explored {
  uint64_t states = 0, runs = 0;
  double orders = 0;                         // ways through the states
  bool isOne = true;                         // every state has one memory, and all lead to the end
  std::set<std::vector<uint32_t>> work = {}; // FakeDevice::workDone of all states
};

// Every order of what `device` has to run. It is left at the end of one.
Explored explore(FakeDevice &device) {
  struct State {
    FakeDevice::Memory memory;
    double ways = 0;
  };
  Explored explored;
  std::map<FakeDevice::Position, State> level;
  level[device.at()] = {device.save(), 1};
  while (explored.isOne) {
    explored.states += level.size();
    std::map<FakeDevice::Position, State> next;
    for (const auto &[position, state] : level) {
      bool goesOn = false;
      for (size_t stream = 0; stream < device.numStreams(); ++stream) {
        device.restore(position, state.memory);
        if (!device.canRun(stream))
          continue;
        goesOn = true;
        ++explored.runs;
        explored.isOne &= device.run(stream);
        explored.work.insert(device.workDone());
        auto [to, isNew] = next.try_emplace(device.at());
        if (isNew)
          to->second.memory = device.save();
        else
          explored.isOne &= device.holds(to->second.memory);
        to->second.ways += state.ways;
      }
      explored.isOne &= goesOn || device.isIdle();
    }
    if (next.empty())
      break;
    level = std::move(next);
  }
  explored.orders = level.begin()->second.ways;
  if (explored.isOne)
    device.restore(level.begin()->first, level.begin()->second.memory);
  return explored;
}

// All ranks, each by itself, after a first run in which they met.
Explored exploreAll(Job &job) {
  std::vector<std::pair<FakeDevice::Position, FakeDevice::Memory>> starts;
  for (auto &device : job.devices)
    starts.push_back({device->at(), device->save()});
  job.runAll([](size_t) { return 0; });
  Explored all{.orders = 1};
  for (size_t rank = 0; rank < starts.size() && all.isOne; ++rank) {
    job.devices[rank]->restore(starts[rank].first, starts[rank].second);
    Explored one = explore(*job.devices[rank]);
    if (rank == 0)
      all.work = one.work;
    all.states += one.states;
    all.runs += one.runs;
    all.orders *= one.orders;
    all.isOne &= one.isOne;
  }
  return all;
}

class Orders : public testing::Test {
protected:
  mlir::MLIRContext context;
};

// Reductions of gradients on a stream of their own, beside the tasks of other micro-batches.
const Shape reducing{.dp = 2, .zero = 1, .microBatches = 2, .slots = 2, .bucketBytes = 4000};

TEST_F(Orders, AllLeaveTheSameBits) {
  for (Shape shape : {Shape{.dp = 2}, Shape{.dp = 2, .zero = 1, .bucketBytes = 0, .llama = true},
                      Shape{.microBatches = 3, .slots = 2}, Shape{.tp = 2}, reducing}) {
    std::vector<uint8_t> file = compileStep(context, shape);
    for (int64_t steps : {1, 3}) {
      std::vector<Result> wanted = runPlainly(file, shape, steps);
      Job job(file, shape, steps);
      Explored found = exploreAll(job);
      std::printf(
          "dp %d tp %d zero %d micro-batches %d, %d steps enqueued: %llu states, %llu runs of "
          "commands, %.3g orders\n",
          int(shape.dp), int(shape.tp), int(shape.zero), int(shape.microBatches), int(steps),
          static_cast<unsigned long long>(found.states),
          static_cast<unsigned long long>(found.runs), found.orders);
      EXPECT_TRUE(found.isOne);
      EXPECT_EQ(job.collect(), wanted);
      if (shape.dp > 1)
        EXPECT_GT(found.orders, 100);
    }
  }
}

// More ranks and steps: all of them interleaved at random.
TEST_F(Orders, AtRandomLeaveTheSameBits) {
  int cases = 0;
  for (Shape shape : {Shape{.dp = 2, .tp = 2, .microBatches = 3, .slots = 2, .bucketBytes = 0},
                      Shape{.dp = 4, .zero = 1, .microBatches = 3, .dropout = 0.2}}) {
    std::vector<uint8_t> file = compileStep(context, shape);
    std::vector<Result> wanted = runPlainly(file, shape, 3);
    for (unsigned seed = 0; seed < 20; ++seed, ++cases) {
      std::mt19937 random(seed);
      // In half of the cases some streams are held up for long.
      unsigned favour = seed % 2 == 0 ? 1 : 50;
      Job job(file, shape, 3);
      job.runAll([&](size_t ready) {
        size_t first = random() % ready;
        return random() % favour == 0 ? first : ready - 1;
      });
      EXPECT_EQ(job.collect(), wanted) << "seed " << seed;
    }
  }
  std::printf("%d random orders\n", cases);
}

// Waits that do not show either order nothing that others do not order, too, or hold back what could
// have gone on.
TEST_F(Orders, AMissingWaitShows) {
  std::vector<uint8_t> file = compileStep(context, reducing);
  int waits = Job(file, reducing, 1).devices[0]->numWaits(), found = 0;
  Job whole(file, reducing, 2);
  std::set<std::vector<uint32_t>> work = exploreAll(whole).work;
  for (int wait = 0; wait < waits; ++wait) {
    Job job(file, reducing, 2, {.ignoredWait = wait});
    Explored explored = exploreAll(job);
    found += !explored.isOne;
    if (explored.isOne)
      std::printf("wait %d of %d: %s\n", wait, waits,
                  explored.work == work ? "orders nothing anew" : "protects nothing");
  }
  std::printf("%d of %d missing waits show\n", found, waits);
  EXPECT_GE(3 * found, 2 * waits);
}

TEST_F(Orders, ACommandThatIsKeptByPointerShows) {
  std::vector<uint8_t> file = compileStep(context, reducing);
  Job job(file, reducing, 1, {.keepsPointers = true});
  job.runAll([](size_t) { return 0; });
  EXPECT_NE(job.collect(), runPlainly(file, reducing, 1));
}

TEST_F(Orders, ResultsThatAreReadTooEarlyShow) {
  std::vector<uint8_t> file = compileStep(context, reducing);
  Job early(file, reducing, 1, {.returnsEarly = true});
  rt::StepResult result;
  ASSERT_TRUE(early.executors[0]->collect(result).ok());
  EXPECT_NE(result.loss, runPlainly(file, reducing, 1)[0].losses[0]);
  // A device that is honest makes the host wait.
  Job honest(file, reducing, 1);
  EXPECT_EQ(honest.executors[0]->collect(result).statusCode(), rt::StatusCode::Aborted);
}

} // namespace
} // namespace dtc::test

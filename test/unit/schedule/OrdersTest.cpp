// Tests steps on a device that runs commands in an order that the test chooses. In every order that
// streams and events allow, with the host ahead by several steps, the results must have the same
// bits as on the CPU.
#include "test/unit/schedule/OrderExplorer.h"
#include "test/unit/schedule/StepProgram.h"

#include <cstdio>
#include <random>

namespace dtc::test {
namespace {

using rt::Executor;

// The results of a rank's steps.
struct Result {
  std::vector<float> losses, norms, parameters;
  bool operator==(const Result &other) const = default;
};

// Runs on the CPU, one step after the other.
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
class Job : public FakeRanks {
public:
  Job(const std::vector<uint8_t> &file, const Shape &shape, int64_t steps,
      const Faults &faults = {})
      : FakeRanks(file, static_cast<int>(shape.dp * shape.tp), static_cast<size_t>(steps), faults),
        steps(steps) {
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

private:
  int64_t steps;
};

class Orders : public testing::Test {
protected:
  mlir::MLIRContext context;
};

// Reductions of gradients run on a stream of their own, beside the tasks of other micro-batches.
const Shape reducing{.dp = 2, .zero = 1, .microBatches = 2, .slots = 2, .bucketBytes = 4000};

// Parameters are gathered a block ahead and gradients scattered by block, each on a stream of its
// own, in every micro-batch.
const Shape gathering{.dp = 2, .zero = 3, .microBatches = 2, .bucketBytes = 4000};

TEST_F(Orders, AllLeaveTheSameBits) {
  for (Shape shape : {gathering, Shape{.dp = 2, .zero = 2, .llama = true}, Shape{.dp = 2},
                      Shape{.dp = 2, .zero = 1, .bucketBytes = 0, .llama = true},
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

// More ranks and steps run, all of them interleaved at random.
TEST_F(Orders, AtRandomLeaveTheSameBits) {
  int cases = 0;
  for (Shape shape : {Shape{.dp = 2, .tp = 2, .microBatches = 3, .slots = 2, .bucketBytes = 0},
                      Shape{.dp = 4, .zero = 1, .microBatches = 3, .dropout = 0.2}}) {
    std::vector<uint8_t> file = compileStep(context, shape);
    std::vector<Result> wanted = runPlainly(file, shape, 3);
    for (unsigned seed = 0; seed < 20; ++seed, ++cases) {
      std::mt19937 random(seed);
      // In half of the cases some streams are delayed for long.
      unsigned favour = seed % 2 == 0 ? 1 : 50;
      Job job(file, shape, 3);
      EXPECT_TRUE(job.runAll([&](size_t ready) {
        size_t first = random() % ready;
        return random() % favour == 0 ? first : ready - 1;
      }));
      EXPECT_EQ(job.collect(), wanted) << "seed " << seed;
    }
  }
  std::printf("%d random orders\n", cases);
}

// Waits whose absence has no effect order nothing that others do not order, too, or delay what
// could have continued.
TEST_F(Orders, AMissingWaitShows) {
  // Every order of one step is explored for each wait, with large buckets, which make few
  // collectives.
  const Shape few{.dp = 2, .zero = 3, .microBatches = 2, .layers = 1};
  for (Shape shape : {reducing, few}) {
    int64_t steps = shape.zero == 3 ? 1 : 2;
    std::vector<uint8_t> file = compileStep(context, shape);
    int waits = Job(file, shape, 1).devices[0]->numWaits(), found = 0;
    Job whole(file, shape, steps);
    std::set<std::vector<uint32_t>> work = exploreAll(whole).work;
    for (int wait = 0; wait < waits; ++wait) {
      Job job(file, shape, steps, {.ignoredWait = wait});
      Explored explored = exploreAll(job);
      found += !explored.isOne;
      if (explored.isOne)
        std::printf("wait %d of %d: %s\n", wait, waits,
                    explored.work == work ? "orders nothing anew" : "protects nothing");
    }
    std::printf("zero %d: %d of %d missing waits show\n", int(shape.zero), found, waits);
    EXPECT_GE(3 * found, 2 * waits);
  }
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
  // A correct device makes the host wait.
  Job honest(file, reducing, 1);
  EXPECT_EQ(honest.executors[0]->collect(result).statusCode(), rt::StatusCode::Aborted);
}

} // namespace
} // namespace dtc::test

// Runs a pipeline whose transfers run beside compute in every order that streams and events allow.
// It must give the bits of the CPU, and a missing wait must be found.
#include "runtime/base/Fill.h"
#include "runtime/exec/Binding.h"
#include "test/unit/exec/RankRunner.h"
#include "test/unit/schedule/OrderExplorer.h"
#include "test/unit/schedule/TwoStages.h"

#include <cmath>
#include <cstdio>

namespace dtc::test {
namespace {

constexpr int kRanks = 2;

// Fills the parameters with the initial values of a run with seed 7, and the inputs of a step.
void fill(rt::Executor &executor, rt::Device &device) {
  std::vector<uint32_t> mesh{kRanks, 1};
  for (const format::Tensor *tensor : *executor.program().parameters()) {
    std::vector<float> local(256);
    ASSERT_TRUE(
        rt::initialiseTensor(rt::tensorSpec(*tensor), 7, mesh, executor.coordinates(), local).ok());
    put(executor, device, tensor->buffer(), local);
  }
}

void prepare(rt::Executor &executor, int step) {
  for (auto [name, phase] : {std::pair("x", 0.0f), std::pair("targets", 1.0f)})
    if (executor.findInput(name)) {
      std::vector<float> values(TwoStages::microBatches * TwoStages::microBatch * TwoStages::width);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(static_cast<float>(i * 7 + static_cast<size_t>(step) * 31) + phase);
      ASSERT_TRUE(executor.writeInput(name, std::as_bytes(std::span(values))).ok());
    }
  ASSERT_TRUE(executor.setScalars({static_cast<uint64_t>(step) + 1, 9, 1e-3f, 3}).ok());
}

std::vector<float> parametersOf(rt::Executor &executor, rt::Device &device) {
  std::vector<float> all;
  for (const format::Tensor *tensor : *executor.program().parameters())
    for (float value : get(executor, device, tensor->buffer()))
      all.push_back(value);
  return all;
}

class Job : public FakeRanks {
public:
  Job(const std::vector<uint8_t> &file, int steps, format::EntryKind entry,
      const Faults &faults = {}, int faulty = 0)
      : FakeRanks(file, kRanks, static_cast<size_t>(steps), faults, faulty) {
    for (size_t rank = 0; rank < kRanks; ++rank) {
      fill(*executors[rank], *devices[rank]);
      for (int step = 0; step < steps; ++step) {
        prepare(*executors[rank], step);
        EXPECT_TRUE(executors[rank]->enqueue(entry).ok());
      }
    }
  }
};

class TransferOrders : public testing::Test {
protected:
  TransferOrders() { context.loadDialect<exec::ExecDialect, graph::GraphDialect>(); }
  mlir::MLIRContext context;
};

TEST_F(TransferOrders, AllLeaveTheSameBits) {
  std::vector<uint8_t> file = TwoStages(context, 1).pipeline(/*overlaps=*/true);
  ASSERT_FALSE(file.empty());
  for (int steps : {1, 2}) {
    std::vector<std::vector<float>> wanted(kRanks), found;
    runRanks(kRanks, file, [&](int rank, rt::Executor &executor, rt::Device &device) {
      fill(executor, device);
      for (int i = 0; i < steps; ++i) {
        prepare(executor, i);
        step(executor);
      }
      wanted[static_cast<size_t>(rank)] = parametersOf(executor, device);
    });
    Job job(file, steps, format::EntryKind::train);
    Explored explored = exploreAll(job);
    std::printf("%d steps enqueued: %llu states, %llu runs of commands, %.3g orders\n", steps,
                static_cast<unsigned long long>(explored.states),
                static_cast<unsigned long long>(explored.runs), explored.orders);
    EXPECT_TRUE(explored.isOne);
    EXPECT_GT(explored.orders, 100);
    for (size_t rank = 0; rank < kRanks; ++rank)
      found.push_back(parametersOf(*job.executors[rank], *job.devices[rank]));
    EXPECT_EQ(found, wanted);
  }
  Job evaluation(file, 2, format::EntryKind::evaluate);
  EXPECT_TRUE(exploreAll(evaluation).isOne);
}

// Some waits of a step add no order, because something else protects the same memory: a gradient
// that comes back shows that what was sent has arrived.
TEST_F(TransferOrders, AMissingWaitShows) {
  std::vector<uint8_t> file = TwoStages(context, 1).pipeline(/*overlaps=*/true);
  ASSERT_FALSE(file.empty());
  int waits = 0, found = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    Job first(file, 1, format::EntryKind::train);
    int ofRank = first.devices[static_cast<size_t>(rank)]->numWaits();
    for (int wait = 0; wait < ofRank; ++wait) {
      Job job(file, 1, format::EntryKind::train, {.ignoredWait = wait}, rank);
      ++waits;
      found += !exploreAll(job).isOne;
    }
  }
  std::printf("%d of %d missing waits show\n", found, waits);
  EXPECT_GE(2 * found, waits);
}

} // namespace
} // namespace dtc::test

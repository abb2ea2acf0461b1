// Tests several ranks on CUDA devices: over NCCL if each has a GPU, through the hosts if they share
// one.
#include "test/unit/fakecuda/CudaTestSupport.h"

#include <algorithm>
#include <chrono>
#include <mutex>

// Defined in cmake/LeakCheck.cpp, in sanitizer builds alone.
extern "C" __attribute__((weak)) bool dtcIgnoresLeaks;

namespace dtc::rt {
namespace {

// Ignores memory that the process keeps to its end if communicators do not end, or CUDA is lost.
void ignoreLeaks() {
  if (&dtcIgnoresLeaks)
    dtcIgnoresLeaks = true;
}

using test::CudaRank;
using test::ProgramBuilder;
using test::RanksOptions;
using Kind = format::CollectiveKind;

// The parameter is true if the ranks share one GPU.
class CudaRanks : public testing::TestWithParam<bool> {
protected:
  RanksOptions options(int ranks, uint64_t seed) const {
    RanksOptions options{.ranks = ranks};
    options.fake.seed = seed;
    options.fake.oneGpu = GetParam();
    options.fake.nccl = !GetParam(); // not missed if ranks share a GPU
    // A driver knows the order in which NCCL's operations can run, but not the order of host
    // rendezvous.
    options.fake.graphQueues = GetParam() ? 1 + seed % 2 : 0;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(, CudaRanks, testing::Bool(), [](const auto &info) {
  return std::string(info.param ? "ThroughHosts" : "ByNccl");
});

struct Collectives {
  explicit Collectives(uint32_t ranks) : builder(test::simtProgram({{"dp", ranks}})) {
    builder.program().num_streams = 2;
    builder.program().num_events = 2;
    one = builder.buffer("one", 2);
    sum = builder.buffer("sum", 2);
    most = builder.buffer("most", 2);
    all = builder.buffer("all", 2 * ranks);
    part = builder.buffer("part", 2);
    swapped = builder.buffer("swapped", 2 * ranks);
    uint32_t group = builder.group({0});
    builder.add(test::record(0));
    builder.add(test::wait(0), 1);
    builder.add(test::collective(Kind::all_reduce, group, one, sum, 2), 1);
    format::CollectiveT max = test::collective(Kind::all_reduce, group, one, most, 2);
    max.reduce = format::ReduceKind::max;
    builder.add(std::move(max), 1);
    builder.add(test::record(1), 1);
    builder.add(test::collective(Kind::all_gather, group, one, all, 2));
    builder.add(test::collective(Kind::reduce_scatter, group, all, part, 2));
    builder.add(test::collective(Kind::all_to_all, group, all, swapped, 2));
    builder.add(test::wait(1));
  }

  ProgramBuilder builder;
  uint32_t one = 0, sum = 0, most = 0, all = 0, part = 0, swapped = 0;
};

TEST_P(CudaRanks, RunEveryCollective) {
  for (int ranks : {1, 2, 3}) {
    Collectives program(static_cast<uint32_t>(ranks));
    std::vector<uint8_t> file = program.builder.file();
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      RanksOptions how = options(ranks, seed);
      how.graphs = seed % 2 == 0;
      test::onCudaRanks(how, file, [&](CudaRank at) {
        auto r = static_cast<float>(at.rank), size = static_cast<float>(ranks);
        for (int step = 0; step < 3; ++step) {
          auto shift = static_cast<float>(step);
          at.put(program.one, {r + 1 + shift, -r});
          StepResult result;
          DTC_RETURN_IF_ERROR(at.executor.runStep(result));
          float total = 0;
          std::vector<float> gathered, received;
          for (int i = 0; i < ranks; ++i) {
            auto other = static_cast<float>(i);
            total += other;
            gathered.insert(gathered.end(), {other + 1 + shift, -other});
            received.insert(received.end(), {r + 1 + shift, -r});
          }
          EXPECT_EQ(at.get(program.sum), (std::vector<float>{total + size * (1 + shift), -total}));
          EXPECT_EQ(at.get(program.most), (std::vector<float>{size + shift, 0}));
          EXPECT_EQ(at.get(program.all), gathered);
          EXPECT_EQ(at.get(program.part), (std::vector<float>{size * (r + 1 + shift), -size * r}));
          EXPECT_EQ(at.get(program.swapped), received);
        }
        return Status();
      });
    }
  }
}

// Each rank sends to the next one and receives from the one before at the same time. Such a ring
// deadlocks if a rank has to receive before it can send.
TEST_P(CudaRanks, SendAroundARing) {
  for (uint32_t ranks : {2u, 3u}) {
    ProgramBuilder builder = test::simtProgram({{"pp", ranks}});
    builder.program().num_streams = 2;
    uint32_t x = builder.buffer("x", 3), y = builder.buffer("y", 3);
    uint32_t group = builder.group({0});
    builder.add(test::transfer(format::TransferKind::send, group, 1, x, 3));
    builder.add(test::transfer(format::TransferKind::receive, group, ranks - 1, y, 3), 1);
    std::vector<uint8_t> file = builder.file();
    for (uint64_t seed = 1; seed <= 6; ++seed)
      test::onCudaRanks(options(static_cast<int>(ranks), seed), file, [&](CudaRank at) {
        auto r = static_cast<float>(at.rank);
        auto before =
            static_cast<float>((at.rank + static_cast<int>(ranks) - 1) % static_cast<int>(ranks));
        for (int step = 0; step < 3; ++step) {
          auto shift = static_cast<float>(step);
          at.put(x, {r, r + 1, shift});
          StepResult result;
          DTC_RETURN_IF_ERROR(at.executor.runStep(result));
          EXPECT_EQ(at.get(y), (std::vector<float>{before, before + 1, shift}));
        }
        return Status();
      });
  }
}

// A group of two lists of two ranks computes separate sums.
TEST_P(CudaRanks, KeepListsOfAGroupApart) {
  ProgramBuilder builder = test::simtProgram({{"dp", 2}, {"tp", 2}});
  uint32_t x = builder.buffer("x", 1), y = builder.buffer("y", 1), z = builder.buffer("z", 1);
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), x, y, 1));
  builder.add(test::collective(Kind::all_reduce, builder.group({1}), x, z, 1));
  test::onCudaRanks(options(4, 1), builder.file(), [&](CudaRank at) {
    auto r = static_cast<float>(at.rank);
    at.put(x, {r});
    StepResult result;
    DTC_RETURN_IF_ERROR(at.executor.runStep(result));
    EXPECT_EQ(at.get(y), std::vector<float>{at.rank % 2 == 0 ? 2.0f : 4.0f}); // 0 2, 1 3
    EXPECT_EQ(at.get(z), std::vector<float>{at.rank < 2 ? 1.0f : 5.0f});      // 0 1, 2 3
    return Status();
  });
}

// A rank that never comes makes the other's step end with a time-out, without a hang.
TEST_P(CudaRanks, EndWhereAPeerIsMissing) {
  ProgramBuilder builder = test::simtProgram({{"dp", 2}});
  uint32_t x = builder.buffer("x", 4);
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), x, x, 4));
  RanksOptions how = options(2, 1);
  how.timeout = 0.5;
  test::onCudaRanks(how, builder.file(), [&](CudaRank at) {
    if (at.rank == 1)
      return Status();
    StepResult result;
    Status status = at.executor.runStep(result);
    EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
    EXPECT_NE(status.message().find("rank 0, step 1, task 'step'"), std::string::npos)
        << status.message();
    if (!GetParam())
      EXPECT_NE(status.message().find("all_reduce over group 'dp', in which this rank is number 0 "
                                      "of 2, did not end within 0.5 s"),
                std::string::npos)
          << status.message();
    return Status();
  });
}

// No code is loaded and no memory is allocated between operations that wait for other ranks, since
// the driver may synchronise then. Hosts do not wait for results of a step either.
TEST_P(CudaRanks, NeedNothingNewBetweenTransfers) {
  for (uint32_t ranks : {2u, 3u}) {
    ProgramBuilder builder = test::simtProgram({{"pp", ranks}});
    builder.program().num_streams = 2;
    uint32_t x = builder.buffer("x", 3), y = builder.buffer("y", 3), z = builder.buffer("z", 3);
    uint32_t scale = builder.kernel("scale", {12, 12}, 3);
    builder.manifest.kernels[scale]->num_scalars = 1;
    builder.manifest.kernels[scale]->num_results = 1;
    uint32_t group = builder.group({0});
    builder.add(test::transfer(format::TransferKind::send, group, 1, x, 3));
    format::LaunchT launch;
    launch.kernel = scale;
    launch.buffers = {x, z};
    launch.range = 3;
    launch.scalars.push_back(test::rankScalar(1));
    builder.add(std::move(launch), 1);
    format::GemmT product;
    product.m = product.n = product.k = product.lda = product.ldb = product.ldc = 1;
    product.alpha = 1;
    product.a = product.b = x;
    product.c = builder.buffer("c", 1);
    product.dtype = format::DType::f32;
    builder.add(product, 1);
    builder.add(test::transfer(format::TransferKind::receive, group, ranks - 1, y, 3), 1);
    std::vector<uint8_t> file = builder.file();
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      RanksOptions how = options(static_cast<int>(ranks), seed);
      how.trace = true;
      how.timeout = 5;
      test::onCudaRanks(how, file, [&](CudaRank at) {
        auto r = static_cast<float>(at.rank);
        for (int step = 0; step < 2; ++step) {
          at.put(x, {r, 1, 2});
          StepResult result;
          DTC_RETURN_IF_ERROR(at.executor.runStep(result));
          EXPECT_EQ(at.get(z), (std::vector<float>{2 * r + 1, 3, 5}));
          EXPECT_EQ(at.get(y)[1], 1);
          EXPECT_GT(result.seconds, 0);
        }
        return Status();
      });
    }
  }
}

// A host that is blocked while it enqueues, because streams wait for a rank that never comes, ends
// too.
TEST_P(CudaRanks, EndWhereTheHostIsBlocked) {
  ProgramBuilder builder = test::simtProgram({{"dp", 2}});
  uint32_t x = builder.buffer("x", 4);
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), x, x, 4));
  for (int i = 0; i < 12; ++i)
    builder.add(test::zero(x));
  RanksOptions how = options(2, 1);
  how.timeout = 0.5;
  how.trace = true;
  how.fake.streamDepth = 6;
  test::onCudaRanks(how, builder.file(), [&](CudaRank at) {
    if (at.rank == 1)
      return Status();
    StepResult result;
    Status status = at.executor.runStep(result);
    EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
    EXPECT_NE(status.message().find("instruction 0, all_reduce"), std::string::npos)
        << status.message();
    return Status();
  });
}

// Steps are not recorded if the driver keeps the order of communicators in a graph by running them
// one after another.
TEST(CudaNccl, RecordsNoBranchesForOldDrivers) {
  Collectives program(2);
  std::vector<uint8_t> file = program.builder.file();
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RanksOptions how{.ranks = 2, .timeout = 2};
    how.fake.seed = seed;
    how.fake.graphQueues = 1;
    how.fake.driverVersion = 12080;
    test::onCudaRanks(how, file, [&](CudaRank at) {
      StepResult result;
      for (int step = 0; step < 3; ++step)
        DTC_RETURN_IF_ERROR(at.executor.runStep(result));
      return Status();
    });
  }
}

// With even older drivers, ranks could deadlock in streams too.
TEST(CudaNccl, RefusesDriversThatKeepNoOrder) {
  Collectives program(2);
  RanksOptions how{.ranks = 2, .timeout = 2};
  how.fake.driverVersion = 12020;
  test::onCudaRanks(
      how, program.builder.file(), [](CudaRank) { return Status(); },
      [](int, const Status &status) {
        EXPECT_NE(status.message().find(
                      "NCCL needs a driver of CUDA 12.3 or later here, the oldest one of all "
                      "ranks is of 12.2"),
                  std::string::npos)
            << status.message();
      });
}

// The error names the operation that waits, not one that is finished.
TEST(CudaNccl, NamesTheOperationThatWaits) {
  ProgramBuilder builder = test::simtProgram({{"dp", 2}});
  uint32_t x = builder.buffer("x", 2), y = builder.buffer("y", 4);
  uint32_t group = builder.group({0});
  builder.add(test::collective(Kind::all_reduce, group, x, x, 2));
  builder.add(test::collective(Kind::all_gather, group, x, y, 2));
  std::vector<uint8_t> whole = builder.file();
  builder.instructions().pop_back();
  builder.add(test::zero(y));
  std::vector<uint8_t> part = builder.file();
  auto fake = makeFakeCuda({.gpus = 2});
  auto worlds = makeLoopbackWorld(2, 60);
  CudaOptions cuda;
  cuda.timeoutSeconds = 1.5; // The all-reduce, which both ranks join, takes less.
  auto step = [](CudaRank at) {
    StepResult result;
    return at.executor.runStep(result);
  };
  std::thread peer([&] { (void)test::onCuda(*fake, part, *worlds[1], {}, cuda, step); });
  Status status = test::onCuda(*fake, whole, *worlds[0], {}, cuda, step);
  peer.join();
  EXPECT_NE(status.message().find("instruction 1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("all_gather over group 'dp'"), std::string::npos)
      << status.message();
}

// The time-out holds for one operation, not for all steps together.
TEST(CudaNccl, TakesSlowRanksForNoneMissing) {
  ProgramBuilder builder = test::simtProgram({{"dp", 2}});
  uint32_t x = builder.buffer("x", 4);
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), x, x, 4));
  test::onCudaRanks({.ranks = 2, .timeout = 2}, builder.file(), [&](CudaRank at) {
    StepResult result;
    for (int step = 0; step < 6; ++step) {
      if (at.rank == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
      DTC_RETURN_IF_ERROR(at.executor.runStep(result));
    }
    return Status();
  });
}

// Ranks that have NCCL get an error that names the rank without it before any operation waits for
// that rank.
TEST(CudaNccl, IsMissedByNameWhereRanksHaveGpusOfTheirOwn) {
  Collectives program(2);
  RanksOptions how{.ranks = 2};
  how.fake.nccl = false;
  std::mutex mutex;
  std::vector<std::string> messages;
  test::onCudaRanks(
      how, program.builder.file(), [](CudaRank) { return Status(); },
      [&](int, const Status &status) {
        std::lock_guard lock(mutex);
        messages.push_back(status.message());
      });
  for (const std::string &message : messages)
    EXPECT_EQ(message, "there is no NCCL");
  EXPECT_EQ(messages.size(), 2u);
}

TEST(CudaNccl, SaysWhichLibraryIsMissing) {
  auto libraries = systemCudaLibraries();
  const cu::Nccl *nccl = nullptr;
  Status status = libraries->nccl(nccl);
  if (status.ok())
    GTEST_SKIP() << "this machine has libnccl.so.2";
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  // A machine may have NCCL and no driver.
  bool isNamed = status.message().find("libnccl.so.2") != std::string::npos ||
                 status.message().find("libcuda.so.1") != std::string::npos;
  EXPECT_TRUE(isNamed) << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
}

// Runs four ranks of which the last does one step less, and passes their results to `onStatus`.
void stepsOfWhichOneMisses(const std::vector<uint8_t> &file,
                           const std::function<void(int, const Status &)> &onStatus) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    RanksOptions how{.ranks = 4, .timeout = 2}; // The first step, with all ranks, takes less.
    how.fake.seed = seed;
    SCOPED_TRACE(seed);
    auto begin = std::chrono::steady_clock::now();
    test::onCudaRanks(
        how, file,
        [&](CudaRank at) {
          StepResult result;
          DTC_RETURN_IF_ERROR(at.executor.runStep(result));
          return at.rank == 3 ? Status() : at.executor.runStep(result);
        },
        onStatus);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << seed;
  }
}

// Ranks 1 and 2 wait in a graph for rank 3, and rank 0 waits for them in later operations. All end,
// although NCCL aborts no communicator whose operations are in a graph. Rank 0 must not take
// aborted operations of the others for completed ones.
TEST(CudaNccl, AbortsCommunicatorsOfGraphs) {
  for (bool isDpFirst : {true, false}) {
    ProgramBuilder builder = test::simtProgram({{"dp", 2}, {"tp", 2}});
    uint32_t x = builder.buffer("x", 2);
    uint32_t dp = builder.group({0}), tp = builder.group({1});
    builder.add(test::collective(Kind::all_reduce, isDpFirst ? dp : tp, x, x, 2));
    builder.add(test::collective(Kind::all_reduce, isDpFirst ? tp : dp, x, x, 2));
    stepsOfWhichOneMisses(builder.file(), [](int rank, const Status &status) {
      EXPECT_EQ(status.ok(), rank == 3) << rank << ": " << status.message();
    });
  }
}

// A communicator is used in two streams at once. NCCL does not say which operation such a
// communicator is in.
TEST(CudaNccl, AbortsCommunicatorsOfSeveralStreams) {
  ProgramBuilder builder = test::simtProgram({{"dp", 2}, {"tp", 2}});
  builder.program().num_streams = 2;
  uint32_t x = builder.buffer("x", 2), y = builder.buffer("y", 2);
  uint32_t dp = builder.group({0}), tp = builder.group({1});
  builder.add(test::collective(Kind::all_reduce, dp, x, x, 2));
  builder.add(test::collective(Kind::all_reduce, tp, x, x, 2));
  builder.add(test::collective(Kind::all_reduce, tp, y, y, 2), 1);
  stepsOfWhichOneMisses(builder.file(), [](int rank, const Status &status) {
    if (rank != 0)
      EXPECT_EQ(status.ok(), rank == 3) << rank << ": " << status.message();
  });
}

// An abort that never ends blocks no rank.
TEST(CudaNccl, LeavesCommunicatorsThatDoNotEnd) {
  ignoreLeaks();
  ProgramBuilder builder = test::simtProgram({{"dp", 2}});
  uint32_t x = builder.buffer("x", 4);
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), x, x, 4));
  auto fake = makeFakeCuda({.gpus = 2, .endlessAborts = true});
  auto worlds = makeLoopbackWorld(2, 60);
  CudaOptions cuda;
  cuda.timeoutSeconds = 0.2;
  cuda.abortSeconds = 0.3;
  std::vector<uint8_t> file = builder.file();
  std::thread peer([&] {
    (void)test::onCuda(*fake, file, *worlds[1], {}, cuda, [](CudaRank) { return Status(); });
  });
  Status status = test::onCuda(*fake, file, *worlds[0], {}, cuda, [](CudaRank at) {
    StepResult result;
    return at.executor.runStep(result);
  });
  peer.join();
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_NE(status.message().find("did not end within 0.2 s"), std::string::npos)
      << status.message();
}

// After a fault of the GPU, communicators are not used any more. The emulated GPU finds the fault
// here.
TEST(CudaNccl, AbortsNothingAfterAFault) {
  ignoreLeaks();
  ProgramBuilder builder = test::simtProgram({{"dp", 2}});
  uint32_t x = builder.buffer("x", 2), y = builder.buffer("y", 4);
  uint32_t group = builder.group({0});
  builder.add(test::collective(Kind::all_reduce, group, x, x, 2));
  std::vector<uint8_t> files[2] = {builder.file(), {}};
  builder.instructions().clear();
  builder.add(test::collective(Kind::all_gather, group, x, y, 2));
  files[1] = builder.file();
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    auto fake = makeFakeCuda({.seed = seed, .gpus = 2});
    auto worlds = makeLoopbackWorld(2, 60);
    auto run = [&](size_t rank) {
      return test::onCuda(*fake, files[rank], *worlds[rank], {}, CudaOptions{}, [](CudaRank at) {
        StepResult result;
        return at.executor.runStep(result);
      });
    };
    std::thread peer([&] { EXPECT_FALSE(run(1).ok()); });
    EXPECT_FALSE(run(0).ok());
    peer.join();
    EXPECT_EQ(fake->leaks(), "") << seed;
  }
}

// Makes each call of two ranks fail in turn, in the driver or in NCCL: both ranks end, and nothing
// is leaked.
TEST(CudaNccl, EndsWhateverCallFails) {
  Collectives program(2);
  std::vector<uint8_t> file = program.builder.file();
  for (uint64_t failing = 1; failing <= 400; failing += 13) {
    RanksOptions how{.ranks = 2, .timeout = 0.1};
    how.fake.seed = failing;
    how.fake.failingCall = failing;
    test::onCudaRanks(
        how, file,
        [&](CudaRank at) {
          StepResult result;
          DTC_RETURN_IF_ERROR(at.executor.runStep(result));
          return at.executor.runStep(result);
        },
        [&](int rank, const Status &status) {
          EXPECT_TRUE(status.ok() || !status.message().empty()) << failing << ", rank " << rank;
        });
  }
}

} // namespace
} // namespace dtc::rt

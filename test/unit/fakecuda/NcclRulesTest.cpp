// Ranks over a stand-in for NCCL that keeps the rules of its real order, memory, multiprocessors
// and configuration.
#include "test/unit/fakecuda/CudaTestSupport.h"

#include <mutex>

namespace dtc::rt {
namespace {

using test::CudaRank;
using test::ProgramBuilder;
using test::RanksOptions;
using Kind = format::CollectiveKind;

std::vector<uint8_t> sumOnTwoStreams() {
  ProgramBuilder builder = test::simtProgram({{"dp", 2}});
  builder.program().num_streams = 2;
  uint32_t x = builder.buffer("x", 2), y = builder.buffer("y", 2);
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), x, x, 2));
  builder.add(test::collective(Kind::all_reduce, builder.group({0}), y, y, 2), 1);
  return builder.file();
}

// Runs three steps of two ranks that must succeed.
void runSteps(const RanksOptions &how, const std::vector<uint8_t> &file) {
  test::onCudaRanks(how, file, [](CudaRank at) {
    StepResult result;
    for (int step = 0; step < 3; ++step)
      DTC_RETURN_IF_ERROR(at.executor.runStep(result));
    return Status();
  });
}

// Returns the errors of ranks that do not even begin a step.
std::vector<std::string> errorsOf(const RanksOptions &how, const std::vector<uint8_t> &file) {
  std::mutex mutex;
  std::vector<std::string> messages;
  test::onCudaRanks(
      how, file, [](CudaRank) { return Status(); },
      [&](int, const Status &status) {
        std::lock_guard lock(mutex);
        messages.push_back(status.message());
      });
  return messages;
}

TEST(NcclRules, TakesEachConfigurationOfTheVersions) {
  std::vector<uint8_t> file = sumOnTwoStreams();
  for (int version : {22703, 22809, 22907, 23203}) {
    RanksOptions how{.ranks = 2, .timeout = 5};
    how.fake.ncclVersion = version;
    runSteps(how, file);
  }
}

TEST(NcclRules, RefusesVersionsThatDeadlock) {
  RanksOptions how{.ranks = 2, .timeout = 5};
  how.fake.ncclVersion = 22605;
  for (const std::string &message : errorsOf(how, sumOnTwoStreams()))
    EXPECT_NE(message.find("2.26.5, which deadlocks pipelines"), std::string::npos) << message;
  how.fake.ncclVersion = 22809;
  how.fake.ncclToolkit = 12020;
  for (const std::string &message : errorsOf(how, sumOnTwoStreams()))
    EXPECT_NE(message.find("built with CUDA 12.2, which deadlocks"), std::string::npos) << message;
}

TEST(NcclRules, OverridesWhatUsersHaveSet) {
  RanksOptions how{.ranks = 2, .timeout = 5};
  how.fake.environment = {{"NCCL_LAUNCH_ORDER_IMPLICIT", "0"}, {"NCCL_RUNTIME_CONNECT", "1"}};
  runSteps(how, sumOnTwoStreams());
  how.fake.environment = {{"CUDA_LAUNCH_BLOCKING", "1"}};
  for (const std::string &message : errorsOf(how, sumOnTwoStreams()))
    EXPECT_EQ(message.find("CUDA_LAUNCH_BLOCKING=1 makes hosts wait"), 0u) << message;
}

// Hosts wait for each other in each collective that they capture where NVLS is used.
TEST(NcclRules, CapturesCollectivesInOneOrder) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    RanksOptions how{.ranks = 2, .timeout = 5};
    how.fake.seed = seed;
    how.fake.nvls = true;
    runSteps(how, sumOnTwoStreams());
  }
}

// All ranks enqueue a step as a graph, or none: the oldest driver decides. The program of one rank
// has communication on two streams, and that of the other on one.
TEST(NcclRules, CapturesOnAllRanksOrOnNone) {
  auto stage = [](bool isFirst) {
    ProgramBuilder builder = test::simtProgram({{"pp", 2}});
    builder.program().num_streams = 2;
    uint32_t x = builder.buffer("x", 2), y = builder.buffer("y", 2);
    uint32_t pp = builder.group({0});
    using format::TransferKind;
    builder.add(test::transfer(isFirst ? TransferKind::send : TransferKind::receive, pp, 1, x, 2));
    builder.add(test::transfer(isFirst ? TransferKind::receive : TransferKind::send, pp, 1, y, 2),
                isFirst ? 1 : 0);
    return builder;
  };
  ProgramBuilder first = stage(true), second = stage(false);
  first.manifest.programs.push_back(std::move(second.manifest.programs[0]));
  first.manifest.rank_program = {0, 1};
  std::vector<uint8_t> file = first.file();
  for (int driver : {12080, 12090})
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      RanksOptions how{.ranks = 2, .timeout = 5};
      how.fake.seed = seed;
      how.fake.driverVersion = driver;
      runSteps(how, file);
    }
}

// Rank 1 posts eight receives ahead of a kernel whose result rank 0 waits for before it sends. Each
// receive holds multiprocessors while it waits, and all together must leave some for the kernel.
TEST(NcclRules, LeaveMultiprocessorsToKernels) {
  constexpr uint32_t groups = 8;
  std::vector<std::pair<std::string, uint32_t>> mesh{{"pp", 2}};
  for (uint32_t i = 1; i < groups; ++i)
    mesh.push_back({std::string(1, static_cast<char>('a' + i)), 1});
  auto stage = [&](bool isFirst) {
    ProgramBuilder builder = test::simtProgram(mesh);
    builder.program().num_streams = groups + 1;
    builder.program().num_events = 1;
    uint32_t x = builder.buffer("x", 2), y = builder.buffer("y", 2);
    uint32_t scale = builder.kernel("scale", {8, 8}, 2);
    builder.manifest.kernels[scale]->num_scalars = 1;
    builder.manifest.kernels[scale]->num_results = 1;
    auto work = [&] {
      format::LaunchT launch = test::launchOf(scale, {x, y}, 2);
      launch.scalars.push_back(test::rankScalar(1));
      builder.add(std::move(launch));
    };
    if (isFirst) {
      builder.add(test::transfer(format::TransferKind::receive, builder.group({0}), 1, y, 2));
      builder.add(test::record(0));
    }
    for (uint32_t i = 0; i < groups; ++i) {
      std::vector<uint32_t> axes{0};
      if (i > 0)
        axes.push_back(i);
      auto stream = static_cast<uint8_t>(i + 1);
      if (isFirst)
        builder.add(test::wait(0), stream);
      uint32_t into = builder.buffer("b" + std::to_string(i), 2);
      builder.add(
          test::transfer(isFirst ? format::TransferKind::send : format::TransferKind::receive,
                         builder.group(axes), 1, isFirst ? y : into, 2),
          stream);
    }
    if (!isFirst) {
      work();
      builder.add(test::transfer(format::TransferKind::send, builder.group({0}), 1, y, 2));
    }
    return builder;
  };
  ProgramBuilder first = stage(true), second = stage(false);
  first.manifest.programs.push_back(std::move(second.manifest.programs[0]));
  first.manifest.rank_program = {0, 1};
  std::vector<uint8_t> file = first.file();
  RanksOptions how{.ranks = 2, .timeout = 5};
  // Four communicators of 16 blocks would hold all of them; eight of 4 blocks hold half.
  how.fake.multiprocessors = 64;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    how.fake.seed = seed;
    test::onCudaRanks(how, file, [](CudaRank at) {
      at.put(0, {1, 2});
      StepResult result;
      return at.executor.runStep(result);
    });
  }
}

// A pipeline has a communicator for the direction that it uses: 4 blocks, 40 MiB.
TEST(NcclRules, MakeTheCommunicatorsThatAProgramUses) {
  auto stage = [](format::TransferKind kind) {
    ProgramBuilder builder = test::simtProgram({{"pp", 2}});
    uint32_t x = builder.buffer("x", 2);
    builder.add(test::transfer(kind, builder.group({0}), 1, x, 2));
    return builder;
  };
  ProgramBuilder first = stage(format::TransferKind::send),
                 second = stage(format::TransferKind::receive);
  first.manifest.programs.push_back(std::move(second.manifest.programs[0]));
  first.manifest.rank_program = {0, 1};
  std::vector<uint8_t> file = first.file();
  RanksOptions how{.ranks = 2, .timeout = 5};
  how.fake.memoryBytes = uint64_t(50) << 20; // a second communicator has no room
  runSteps(how, file);
  how.fake.memoryBytes = uint64_t(30) << 20;
  int named = 0;
  for (const std::string &message : errorsOf(how, file))
    named += message.find("ncclCommInitRankConfig: unhandled cuda error") == 0 &&
             message.find("communicators of this rank, which want some ") != std::string::npos;
  EXPECT_GT(named, 0);
}

// NCCL 2.30.3 and later serve ranks that share a GPU, where the user says so.
TEST(NcclRules, ServesRanksThatShareAGpu) {
  std::vector<uint8_t> file = sumOnTwoStreams();
  auto isStaged = [&](int version, bool isApart, const std::map<std::string, std::string> &given) {
    auto fake = makeFakeCuda({.gpus = 2,
                              .oneGpu = true,
                              .ncclVersion = version,
                              .environment = given,
                              .apart = isApart});
    auto worlds = makeLoopbackWorld(2, 5);
    std::string notice;
    auto run = [&](size_t rank) {
      CudaOptions cuda;
      cuda.timeoutSeconds = 5;
      cuda.notice = [&](const std::string &message) { notice += message; };
      Status status = test::onCuda(*fake, file, *worlds[rank], {}, cuda, [](CudaRank at) {
        StepResult result;
        return at.executor.runStep(result);
      });
      EXPECT_TRUE(status.ok()) << status.message();
    };
    std::thread peer([&] { run(1); });
    run(0);
    peer.join();
    EXPECT_NE(notice.find("2 ranks share 1 GPU"), std::string::npos) << notice;
    return notice.find("through the memory of their hosts") != std::string::npos;
  };
  const std::map<std::string, std::string> allowed{{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}};
  EXPECT_FALSE(isStaged(23003, true, allowed));
  EXPECT_TRUE(isStaged(23003, true, {}));
  EXPECT_TRUE(isStaged(22907, true, allowed));
  EXPECT_TRUE(isStaged(23003, false, allowed)); // ranks are threads of one process
}

} // namespace
} // namespace dtc::rt

// Tests failures of a rank: every rank must get an error that names it, and none may hang.
#include "test/unit/exec/RankRunner.h"
#include "test/unit/format/Sample.h"

#include <chrono>

namespace dtc::rt {
namespace {

using test::ProgramBuilder;

TEST(Failure, WorldOfTheWrongSizeIsNamed) {
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Executable::fromBytes(ProgramBuilder({{"dp", 4}}).file(), "m.dte", executable).ok());
  auto worlds = makeLoopbackWorld(1);
  auto device = makeCpuDevice(1);
  std::unique_ptr<Executor> executor;
  Status status = Executor::create(*executable, *worlds[0], *device, {}, executor);
  EXPECT_EQ(status.message(), "m.dte is compiled for 4 ranks and the job has 1; start as many "
                              "ranks or compile for 1 device");
}

TEST(Failure, CodeThatIsNoObjectIsNamed) {
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(
      Executable::fromBytes(test::sampleProgram(1, {1, 2, 3}).file(), "m.dte", executable).ok());
  auto worlds = makeLoopbackWorld(1);
  auto device = makeCpuDevice(1);
  std::unique_ptr<Executor> executor;
  Status status = Executor::create(*executable, *worlds[0], *device, {}, executor);
  EXPECT_NE(status.message().find("code of 3 bytes: it is no ELF file"), std::string::npos)
      << status.message();
}

TEST(Failure, KernelThatTheCodeLacksIsNamed) {
  ProgramBuilder builder = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS));
  builder.manifest.kernels[1]->symbol = "no_such";
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Executable::fromBytes(builder.file(), "m.dte", executable).ok());
  auto worlds = makeLoopbackWorld(1);
  auto device = makeCpuDevice(1);
  std::unique_ptr<Executor> executor;
  Status status = Executor::create(*executable, *worlds[0], *device, {}, executor);
  EXPECT_NE(status.message().find("has no function 'no_such'"), std::string::npos)
      << status.message();
}

// The message about a repeated instruction names the layer.
TEST(Failure, LayerIsNamed) {
  ProgramBuilder builder({{"dp", 2}});
  uint32_t x = builder.buffer("x", 4);
  builder.add(test::collective(format::CollectiveKind::all_reduce, builder.group({0}), x, x, 4));
  builder.program().tasks[0]->repeats = {format::Repeat(0, 1, 3)};
  test::runRanks(
      2, builder.file(),
      [&](int rank, Executor &executor, Device &) {
        StepResult result;
        if (rank == 1)
          return;
        Status status = executor.runStep(result);
        EXPECT_NE(status.message().find("instruction 0 in layer 0 of 3, all_reduce"),
                  std::string::npos)
            << status.message();
      },
      1, 0.5);
}

// Rank 1 leaves before the step. The others time out in the collective on stream 1, and stream 0,
// which waits for it, stops too.
TEST(Failure, PeerThatLeavesEndsTheStepOnEveryStream) {
  ProgramBuilder builder({{"dp", 2}});
  builder.program().num_streams = 2;
  builder.program().num_events = 1;
  uint32_t x = builder.buffer("x", 4);
  format::CollectiveT sum =
      test::collective(format::CollectiveKind::all_reduce, builder.group({0}), x, x, 4);
  sum.name = "grad x";
  builder.add(std::move(sum), 1);
  builder.add(test::record(0), 1);
  builder.add(test::wait(0));
  auto begin = std::chrono::steady_clock::now();
  test::runRanks(
      2, builder.file(),
      [&](int rank, Executor &executor, Device &) {
        StepResult result;
        ASSERT_TRUE(executor.runStep(result).ok());
        if (rank == 1)
          return;
        Status status = executor.runStep(result);
        EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
        EXPECT_EQ(
            status.message().find("rank 0, step 2, task 'step', micro-batch 0, instruction 0, "
                                  "all_reduce of gradients over dp 'grad x': "),
            0u)
            << status.message();
      },
      1, 0.5);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

} // namespace
} // namespace dtc::rt

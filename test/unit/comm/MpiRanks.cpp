// A program of several MPI ranks. Without a launcher it starts itself on as many as --ranks says:
//   MpiRanks --ranks N [--max-elements M]   the conformance suite
//   MpiRanks --mode kill|exit|leave|late|sleep  one way for rank 1 to end or hang (see LaunchTest)
//   MpiRanks --mode worker   rank 1 is late by more than the time-out, and is waited for
//   MpiRanks --mode well     all end well
// Exit code 77 when there is no MPI here.
#include "runtime/comm/Bootstrap.h"
#include "runtime/comm/Launch.h"
#include "test/unit/comm/Conformance.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace dtc::rt {
namespace {
constexpr int kSkipped = 77;
Comm *theWorld;

class MpiConformance : public testing::TestWithParam<int> {};
TEST_P(MpiConformance, Holds) { conformance::checks[GetParam()].run(*theWorld); }
INSTANTIATE_TEST_SUITE_P(All, MpiConformance, testing::Range(0, conformance::numChecks),
                         [](const auto &info) {
                           return std::string(conformance::checks[info.param].name);
                         });

// 0 when `status` is ok; else prints it and returns `code`.
int report(const Status &status, int code) {
  if (status.ok())
    return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return code;
}

int runSuite(std::unique_ptr<Comm> &world) {
  theWorld = world.get();
  // One rank tells what runs; all tell what fails.
  if (world->rank() != 0)
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  struct FailurePrinter : testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult &result) override {
      if (result.failed())
        std::fprintf(stderr, "rank %d: %s:%d: %s\n", theWorld->rank(), result.file_name(),
                     result.line_number(), result.message());
    }
  };
  testing::UnitTest::GetInstance()->listeners().Append(new FailurePrinter);
  int failed = RUN_ALL_TESTS();
  world.reset();
  return failed;
}

int runMode(const std::string &mode, std::unique_ptr<Comm> &world) {
  if (world->rank() == 1) {
    if (mode == "kill")
      std::raise(SIGKILL);
    if (mode == "exit")
      std::_Exit(4);
    if (mode == "leave")
      std::_Exit(0);
    if (mode == "late")
      ::sleep(60);
    if (mode == "worker")
      ::sleep(2);
  }
  if (mode == "sleep") {
    std::printf("asleep\n");
    std::fflush(stdout);
    ::sleep(60);
  }
  if (mode == "abandon" && world->rank() == 1) {
    world->abandon("its data is damaged");
    int code = report(world->barrier(), 1);
    world.reset();
    return code;
  }
  int code = report(world->barrier(), kExitRankDied);
  world.reset();
  return code;
}

int runRank(const LaunchEnvironment &launch, const std::string &mode, size_t maxElements) {
  StartUp start(launch, {});
  std::unique_ptr<Comm> world;
  double timeout = mode == "late" || mode == "worker" ? 1 : 30;
  Status status = createWorld({.launch = launch,
                               .timeoutSeconds = timeout,
                               .maxElements = maxElements,
                               .phases = mode == "worker" ? &start : nullptr},
                              world);
  if (mode == "worker")
    start.enter(Phase::OpeningData);
  if (int code = report(status, 1))
    return code;
  return mode.empty() ? runSuite(world) : runMode(mode, world);
}

int launch(int ranks, const std::vector<std::string> &arguments) {
  LaunchResult result;
  Status status = launchLocalRanks(ranks, arguments, result);
  if (status.statusCode() == StatusCode::Unavailable) {
    std::printf("skipped: %s\n", status.message().c_str());
    return kSkipped;
  }
  if (int code = report(status, 1))
    return code;
  if (!result.message.empty())
    std::fprintf(stderr, "launcher: %s\n", result.message.c_str());
  return result.exitCode;
}

int run(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  int ranks = 2;
  size_t maxElements = 0;
  std::string mode;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--ranks"))
      ranks = std::atoi(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--max-elements"))
      maxElements = std::strtoull(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--mode"))
      mode = argv[i + 1];
  }
  LaunchEnvironment environment;
  if (int code = report(detectLaunch(environment), 1))
    return code;
  if (!isLaunchedRank())
    return launch(ranks, {argv, argv + argc});
  return runRank(environment, mode, maxElements);
}
} // namespace
} // namespace dtc::rt

int main(int argc, char **argv) { return dtc::rt::run(argc, argv); }

// Tests the time before the first step: a rank may read for long, and a rank that makes no progress
// is named.
#include "test/unit/dtrun/DtrunRunner.h"

#include <chrono>

namespace dtc::rt {
namespace {

using test::Result;

class Start : public test::DtrunTest {
protected:
  void SetUp() override {
    if (!test::hasMpirun())
      GTEST_SKIP() << "mpirun is not here";
    DtrunTest::SetUp();
    ASSERT_EQ(
        shell("mkdir inputs; $DTRUN s2.dte -n 2 --data synthetic --steps 2 --dump-params inputs/p "
              "--checkpoint-dir inputs/saved")
            .exitCode,
        0);
  }

  // Runs two ranks. Rank 1 waits for each of the reads of inputs/`what`, beginning with the `first`
  // one.
  Result runSlowly(const std::string &what, int first, int count, int seconds,
                   const std::string &arguments) const {
    return shell(
        "export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=" DTC_DISK_FAULTS
        " FAULT_RANK=1 FAULT_KIND=stall FAULT_DIR=" +
        folder + "/inputs/" + what + " FAULT_AT=" + std::to_string(first) +
        " FAULT_COUNT=" + std::to_string(count) + " FAULT_SECONDS=" + std::to_string(seconds) +
        "\n$DTRUN s2.dte -n 2 " + arguments);
  }
};

void expectNamed(const Result &result, const std::string &phase) {
  EXPECT_EQ(result.exitCode, 3) << result.output;
  EXPECT_EQ(result.output.find("dtrun: rank 1 on host '"), 0u) << result.output;
  EXPECT_NE(result.output.find(") does not get on: it has been in the start (" + phase + ") for "),
            std::string::npos)
      << result.output;
  EXPECT_EQ(result.output.find("\nstep "), std::string::npos) << result.output;
}

TEST_F(Start, NamesARankThatDoesNotGetOn) {
  const std::string start = "--data synthetic --timeout 30 --steps 4 --log-dir logs ";
  ::setenv("DTC_START_TIMEOUT", "4", 1); // joining has this limit, too, on a busy machine
  expectNamed(runSlowly("p", 1, 1, 60, start + "--init inputs/p"),
              "reading the program, and what it starts with");
  expectNamed(runSlowly("saved", 1, 1, 60, start + "--checkpoint-dir inputs/saved --resume"),
              "reading a checkpoint");
  ::unsetenv("DTC_START_TIMEOUT");
}

// The rank reads longer than any phase may take, but never without a byte for so long. All reads
// but the first, which is for a hash, follow each other.
TEST_F(Start, LetsARankRead) {
  ::setenv("DTC_START_TIMEOUT", "3", 1);
  auto begin = std::chrono::steady_clock::now();
  Result result = runSlowly("p", 2, 9, 1,
                            "--data synthetic --timeout 3 --steps 3 --format json --init inputs/p");
  ::unsetenv("DTC_START_TIMEOUT");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4)) << result.output;
}

} // namespace
} // namespace dtc::rt

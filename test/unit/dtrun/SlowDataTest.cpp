// Tests work between steps: a rank may wait for its data longer than for anything in a step.
#include "test/unit/dtrun/DtrunRunner.h"

namespace dtc::rt {
namespace {

using SlowData = test::DtrunTest;

// Data for evaluation are read before each batch of an evaluation, and data for training again
// after it.
TEST_F(SlowData, IsNoHangOfARankThatEvaluates) {
  if (!test::hasMpirun())
    GTEST_SKIP() << "mpirun is not here";
  writeProgramThatEvaluates("e2.dte", 2);
  constexpr int kSamples = 4; // one batch, of which each rank reads half
  std::filesystem::create_directory(path("data"));
  writeSamples("data/t.npy", kSamples);
  // Counts the reads of rank 1. Two of them wait for 3 s each, beginning with the `first` one.
  auto evaluate = [&](int first) {
    return shell(
        "export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=" DTC_DISK_FAULTS
        " FAULT_RANK=1 FAULT_KIND=stall FAULT_SECONDS=3 FAULT_COUNT=2 FAULT_REPORT=reads "
        "FAULT_DIR=" +
        path("data") + " FAULT_AT=" + std::to_string(first) +
        "\nDTC_HANG_TIMEOUT=1 $DTRUN e2.dte -n 2 --data tokens=data/t.npy,targets=data/t.npy "
        "--eval-data tokens=data/t.npy,targets=data/t.npy --steps 2 --eval-every 1");
  };
  ASSERT_EQ(evaluate(0).exitCode, 0);
  int reads = 0;
  std::ifstream(path("reads")) >> reads;
  // The last reads are those of the second evaluation, each of one sample of tokens or targets. The
  // second batch comes before them.
  int evaluated = kSamples / 2 * 2;
  ASSERT_GT(reads, evaluated);
  test::Result result = evaluate(reads - evaluated);
  EXPECT_EQ(result.exitCode, 0) << result.output;
}

} // namespace
} // namespace dtc::rt

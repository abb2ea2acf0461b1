#include "runtime/monitor/Judge.h"
#include "test/unit/monitor/Notes.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

const ProgramNotes notes = test::smallNotes();
const Patience patience{.hangSeconds = 60, .startSeconds = 120, .longestSeconds = 600};

WatchedRank computes(double quiet, double cpu) {
  WatchedRank rank;
  rank.standing.activity = Activity::Stepping;
  rank.standing.reportsStreams = true;
  rank.standing.computes = true;
  rank.quietSeconds = quiet;
  rank.cpuShare = cpu;
  return rank;
}

WatchedRank waitsIn(uint32_t group, uint64_t sequence, double quiet,
                    Meets meets = Meets::Collective, int peer = -1) {
  WatchedRank rank = computes(quiet, 0.1);
  rank.standing.computes = false;
  rank.standing.waits = {{group, meets, sequence, peer, 0}};
  if (size_t index = ProgressPage::indexOf(group); index < ProgressPage::kGroups)
    rank.standing.started[index][meets == Meets::Receive] = sequence;
  return rank;
}

// Ranks 0 and 2 are in one group, 1 and 3 in the other, and all meet as the host's group.
TEST(Judge, NamesTheOneThatOthersWaitFor) {
  std::vector<WatchedRank> ranks = {waitsIn(0, 7, 70), waitsIn(0, 9, 3), computes(75, 0),
                                    waitsIn(0, 9, 3)};
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
  ranks[2].quietSeconds = 20; // it has just begun
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
}

TEST(Judge, LetsAComputingRankCompute) {
  std::vector<WatchedRank> ranks = {waitsIn(0, 7, 300), computes(1, 1), computes(300, 0.9),
                                    computes(1, 1)};
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  ranks[2].quietSeconds = 601;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
}

// The limit applies if the time of its steps is known.
TEST(Judge, LetsNoInstructionTakeManySteps) {
  std::vector<WatchedRank> ranks = {waitsIn(0, 7, 300), computes(1, 1), computes(61, 0.9),
                                    computes(1, 1)};
  WatchedRank &busy = ranks[2];
  busy.standing.isInStep = true;
  busy.longestStepSeconds = 2;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
  busy.longestStepSeconds = 20;
  busy.quietSeconds = 199;
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  busy.quietSeconds = 201;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
  busy.standing.isInStep = false; // it evaluates
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  busy.standing.isInStep = true;
  busy.standing.activity = Activity::Working; // it reads the next batch meanwhile
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  busy.standing.activity = Activity::Stepping;
  busy.longestStepSeconds = 100;
  busy.quietSeconds = 599;
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  busy.quietSeconds = 601;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
}

WatchedRank isOnASilentDevice(uint32_t step, double quiet) {
  WatchedRank rank = computes(quiet, 0.1);
  rank.standing.computes = rank.standing.reportsStreams = false;
  rank.standing.isInStep = true;
  rank.standing.trainingStep = step;
  rank.longestStepSeconds = 2;
  return rank;
}

TEST(Judge, LetsNoStepOnASilentDeviceTakeMany) {
  std::vector<WatchedRank> ranks = {isOnASilentDevice(8, 59), isOnASilentDevice(8, 59)};
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  for (WatchedRank &rank : ranks)
    rank.quietSeconds = 61;
  EXPECT_GE(findHung(ranks, notes, patience), 0);
  for (WatchedRank &rank : ranks)
    rank.longestStepSeconds = 0; // the first steps
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
}

// A rank that is stopped, or is not as far as the others, delays those that are in a step. A rank
// that has left does not.
TEST(Judge, FindsTheOneThatSilentDevicesWaitFor) {
  std::vector<WatchedRank> ranks = {isOnASilentDevice(8, 90), isOnASilentDevice(8, 80),
                                    isOnASilentDevice(7, 61), isOnASilentDevice(3, 0)};
  ranks[3].isThere = false;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
  ranks[2].standing.isInStep = false; // it is still busy with what comes before
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  ranks[1].standing.isStopped = true;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
  ranks = {isOnASilentDevice(8, 90), isOnASilentDevice(8, 80)};
  ranks[1].standing.isStopped = true;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
}

TEST(Judge, LetsARankWriteFiles) {
  std::vector<WatchedRank> ranks = {waitsIn(ProgressPage::kHostGroup, 7, 300), computes(300, 0)};
  ranks[1].standing.computes = false;
  ranks[1].standing.activity = Activity::Working;
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  ranks[1].quietSeconds = 601;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
  // The device does not report its position.
  ranks[1].standing.activity = Activity::Stepping;
  ranks[1].standing.reportsStreams = false;
  ranks[1].quietSeconds = 300;
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
}

// The bytes that it reads count as progress, so it is quiet if nothing arrives.
TEST(Judge, LetsARankComputeBeforeTheFirstStep) {
  std::vector<WatchedRank> ranks = {waitsIn(ProgressPage::kHostGroup, 7, 300), computes(121, 0.01)};
  ranks[0].standing.activity = ranks[1].standing.activity = Activity::Starting;
  ranks[1].standing.computes = ranks[1].standing.reportsStreams = false;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
  ranks[1].quietSeconds = 119;
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  ranks[1].quietSeconds = 599;
  ranks[1].cpuShare = 0.1; // ten ranks share one processor
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  ranks[1].quietSeconds = 601;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
  // This applies whatever the other limits are.
  Patience brief = patience;
  brief.startSeconds = 5;
  ranks[0].quietSeconds = ranks[1].quietSeconds = 6;
  ranks[1].cpuShare = 0.01;
  EXPECT_EQ(findHung(ranks, notes, brief), 1);
}

// 1 waits for 3. 3 waits by the host's group for 2, which is stopped in a call that 0 is in, too.
TEST(Judge, FollowsTheWayToItsEnd) {
  std::vector<WatchedRank> ranks = {waitsIn(0, 7, 61), waitsIn(0, 9, 90), waitsIn(0, 7, 61),
                                    waitsIn(ProgressPage::kHostGroup, 4, 61)};
  ranks[3].standing.started[0][0] = 8;
  ranks[2].standing.isStopped = true;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
}

// Two ranks have not begun the call, and the stopped one is blamed.
TEST(Judge, BlamesAStoppedRankFirst) {
  std::vector<WatchedRank> ranks = {waitsIn(ProgressPage::kHostGroup, 4, 90), computes(90, 0),
                                    computes(90, 0)};
  ranks[2].standing.isStopped = true;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
}

TEST(Judge, FindsTheOtherEndOfATransfer) {
  // 1 receives for the 5th time. 0 has sent 4 times and computes.
  std::vector<WatchedRank> ranks = {computes(80, 0), waitsIn(1, 5, 80, Meets::Receive, 0)};
  ranks[0].standing.started[1][0] = 4;
  EXPECT_EQ(findHung(ranks, notes, patience), 0);
  // It has sent, too, so the network holds the message.
  ranks[0].standing.started[1][0] = 5;
  ranks[0].quietSeconds = 0;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
}

TEST(Judge, GivesACallOfManyBytesTime) {
  std::vector<WatchedRank> ranks = {waitsIn(0, 7, 100), computes(0, 1), waitsIn(0, 7, 100)};
  EXPECT_GE(findHung(ranks, notes, patience), 0);
  for (size_t rank : {size_t(0), size_t(2)})
    ranks[rank].standing.waits[0].bytes = 1'000'000'000; // 200 s at 10 MB/s
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  for (size_t rank : {size_t(0), size_t(2)})
    ranks[rank].quietSeconds = 261;
  EXPECT_EQ(findHung(ranks, notes, patience), 0);
}

// A rank may report anything, such as groups and peers that do not exist, or a circle of waits.
TEST(Judge, EndsWhateverRanksSay) {
  std::vector<WatchedRank> ranks = {waitsIn(0, 7, 100, Meets::Receive, 1),
                                    waitsIn(0, 7, 100, Meets::Receive, 0)};
  EXPECT_GE(findHung(ranks, notes, patience), 0);
  ranks = {waitsIn(4000000000u, ~0ull, 100, Meets::Send, 77),
           waitsIn(31, ~0ull, 100, Meets::Receive, -5)};
  EXPECT_GE(findHung(ranks, notes, patience), 0);
}

} // namespace
} // namespace dtc::rt

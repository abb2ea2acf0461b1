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

// Ranks 0 and 2 are of one group, 1 and 3 of the other; all meet as the host's group.
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

// As far as it is known how long its steps take.
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
    rank.longestStepSeconds = 0; // the first ones
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
}

// Who is stopped, or has not come as far, holds those up that are in a step; one that is no longer there does not.
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
  // As of a device that does not tell where it is.
  ranks[1].standing.activity = Activity::Stepping;
  ranks[1].standing.reportsStreams = false;
  ranks[1].quietSeconds = 300;
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
}

// What it reads counts as moves, so that it is quiet where nothing comes.
TEST(Judge, LetsARankComputeBeforeTheFirstStep) {
  std::vector<WatchedRank> ranks = {waitsIn(ProgressPage::kHostGroup, 7, 300), computes(121, 0.01)};
  ranks[0].standing.activity = ranks[1].standing.activity = Activity::Starting;
  ranks[1].standing.computes = ranks[1].standing.reportsStreams = false;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
  ranks[1].quietSeconds = 119;
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  ranks[1].quietSeconds = 599;
  ranks[1].cpuShare = 0.1; // of ten on one processor
  EXPECT_EQ(findHung(ranks, notes, patience), -1);
  ranks[1].quietSeconds = 601;
  EXPECT_EQ(findHung(ranks, notes, patience), 1);
  // Whatever the other limits are.
  Patience brief = patience;
  brief.startSeconds = 5;
  ranks[0].quietSeconds = ranks[1].quietSeconds = 6;
  ranks[1].cpuShare = 0.01;
  EXPECT_EQ(findHung(ranks, notes, brief), 1);
}

// 1 waits for 3, which waits for 2 by the host's group, which is stopped in a call that 0 is in, too.
TEST(Judge, FollowsTheWayToItsEnd) {
  std::vector<WatchedRank> ranks = {waitsIn(0, 7, 61), waitsIn(0, 9, 90), waitsIn(0, 7, 61),
                                    waitsIn(ProgressPage::kHostGroup, 4, 61)};
  ranks[3].standing.started[0][0] = 8;
  ranks[2].standing.isStopped = true;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
}

// Of two that have not begun the call, the stopped one.
TEST(Judge, BlamesAStoppedRankFirst) {
  std::vector<WatchedRank> ranks = {waitsIn(ProgressPage::kHostGroup, 4, 90), computes(90, 0),
                                    computes(90, 0)};
  ranks[2].standing.isStopped = true;
  EXPECT_EQ(findHung(ranks, notes, patience), 2);
}

TEST(Judge, FindsTheOtherEndOfATransfer) {
  // 1 receives for the 5th time; 0 has sent 4 times and computes.
  std::vector<WatchedRank> ranks = {computes(80, 0), waitsIn(1, 5, 80, Meets::Receive, 0)};
  ranks[0].standing.started[1][0] = 4;
  EXPECT_EQ(findHung(ranks, notes, patience), 0);
  // It has sent, too: the network keeps the message.
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

// A rank may say anything: groups and peers that are none, or waits in a circle.
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

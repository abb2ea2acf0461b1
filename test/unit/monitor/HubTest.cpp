// Tests rank 0's keeper with peers and a clock of the test.
#include "runtime/monitor/Hub.h"
#include "test/unit/monitor/Notes.h"

#include <gtest/gtest.h>

#include <csignal>

namespace dtc::rt {
namespace {

class HubTest : public testing::Test {
protected:
  void join(int rank, const std::string &host = "h") {
    Frame hello;
    hello.kind = FrameKind::Hello;
    hello.rank = static_cast<uint32_t>(rank);
    hello.host = host;
    hello.process = 100 + static_cast<uint32_t>(rank);
    ASSERT_TRUE(hub.receive(rank, hello, now));
  }
  void joinAll() {
    for (int rank = 0; rank < 4; ++rank)
      join(rank);
  }
  Frame beat(uint64_t moves, bool computes = true) {
    Frame frame;
    frame.kind = FrameKind::Beat;
    frame.standing.activity = Activity::Stepping;
    frame.standing.reportsStreams = true;
    frame.standing.moves = moves;
    frame.standing.computes = computes;
    frame.standing.trainingStep = 12;
    frame.standing.position = "step 12, task 'forward'";
    if (!computes) {
      frame.standing.waits = {{ProgressPage::kHostGroup, Meets::Collective, 5, -1, 0}};
      frame.standing.started[ProgressPage::kGroups - 1][0] = 5;
    }
    return frame;
  }
  Frame end(int code, int signal, const char *words = "") {
    Frame frame = beat(1);
    frame.kind = FrameKind::Ended;
    frame.ending = {code, signal, false, false, words};
    return frame;
  }
  // Sends beats of `ranks` for `seconds`, with progress for those in `moves`. Returns the verdict,
  // if there is one.
  std::optional<Verdict> pass(double seconds, std::vector<int> ranks, bool moves = true) {
    for (double until = now + seconds; now < until; now += 0.5) {
      for (int rank : ranks)
        EXPECT_TRUE(hub.receive(rank, beat(moves ? ++count : 1), now));
      if (std::optional<Verdict> verdict = hub.tick(now))
        return verdict;
    }
    return std::nullopt;
  }

  ProgramNotes notes = test::smallNotes();
  Hub hub{{.ranks = 4, .patience = {60, 600}, .silenceSeconds = 5}, notes};
  double now = 1000;
  uint64_t count = 10;
};

TEST_F(HubTest, IsContentWithRanksThatGetOn) {
  joinAll();
  EXPECT_FALSE(pass(2000, {0, 1, 2, 3}));
}

TEST_F(HubTest, NamesASilentRankInTime) {
  for (int rank = 0; rank < 4; ++rank)
    join(rank, rank == 2 ? "h" : "home");
  EXPECT_FALSE(pass(10, {0, 1, 2, 3}));
  double last = now;
  std::optional<Verdict> verdict = pass(30, {0, 1, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 2);
  EXPECT_EQ(verdict->exitCode, 3);
  EXPECT_LT(now - last, 6.6);
  EXPECT_NE(verdict->report.find("rank 2 on host 'h' (process 102) is lost: its keeper (process 0) "
                                 "gave no sign of life for 5 s; it was in step 12"),
            std::string::npos)
      << verdict->report;
  EXPECT_FALSE(hub.tick(now + 1)); // once
}

TEST_F(HubTest, TellsItsOwnNetworkFromAHost) {
  for (int rank = 0; rank < 4; ++rank)
    join(rank, rank < 2 ? "a" : rank == 2 ? "b" : "c");
  EXPECT_FALSE(pass(10, {0, 1, 2, 3}));
  std::optional<Verdict> verdict = pass(30, {0, 1});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 2);
  EXPECT_NE(verdict->report.find("\n  nothing is heard of any host but 'a', where rank 0 is: its "
                                 "network is gone, or all others are\n"),
            std::string::npos)
      << verdict->report;
}

TEST_F(HubTest, TellsWhichHostIsGone) {
  for (int rank = 0; rank < 4; ++rank)
    join(rank, rank == 0 ? "a" : rank == 3 ? "c" : "b");
  EXPECT_FALSE(pass(10, {0, 1, 2, 3}));
  std::optional<Verdict> verdict = pass(30, {0, 3});
  ASSERT_TRUE(verdict);
  EXPECT_NE(verdict->report.find("\n  nothing is heard of host 'b', where ranks 1 and 2 are: it or "
                                 "its network is gone\n"),
            std::string::npos)
      << verdict->report;
}

TEST_F(HubTest, BlamesNoHostThatAnswers) {
  for (int rank = 0; rank < 4; ++rank)
    join(rank, rank < 2 ? "a" : "b");
  EXPECT_FALSE(pass(10, {0, 1, 2, 3}));
  std::optional<Verdict> verdict = pass(30, {0, 1, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 2);
  EXPECT_EQ(verdict->report.find("nothing is heard"), std::string::npos) << verdict->report;
}

// A host that closes a connection is alive.
TEST_F(HubTest, BlamesNoHostThatClosedAConnection) {
  for (int rank = 0; rank < 4; ++rank)
    join(rank, rank < 3 ? "a" : "b");
  hub.close(3, "has ended, or closed the connection", now);
  std::optional<Verdict> verdict = pass(3, {0, 1, 2});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 3);
  EXPECT_EQ(verdict->report.find("nothing is heard"), std::string::npos) << verdict->report;
}

// The end of its own machine would close the connection.
TEST_F(HubTest, HasMorePatienceWithItsOwnMachine) {
  joinAll();
  EXPECT_FALSE(pass(10, {0, 1, 2, 3}));
  EXPECT_FALSE(pass(20, {0, 1, 3}));
  std::optional<Verdict> verdict = pass(10, {0, 1, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 2);
  EXPECT_NE(verdict->report.find("gave no sign of life for 25 s"), std::string::npos);
}

TEST_F(HubTest, ForgivesASleepOfItsOwn) {
  joinAll();
  EXPECT_FALSE(pass(10, {0, 1, 2, 3}));
  now += 3600;
  hub.forgiveSilence(now);
  EXPECT_FALSE(pass(10, {0, 1, 2, 3}));
}

// A keeper may wait longer for the processor than its rank may stay at one position.
TEST_F(HubTest, JudgesByWhatKeepersTold) {
  Hub hasty({.ranks = 4, .patience = {1, 600}, .silenceSeconds = 5}, notes);
  for (int rank = 0; rank < 4; ++rank) {
    Frame hello;
    hello.kind = FrameKind::Hello;
    hello.rank = static_cast<uint32_t>(rank);
    ASSERT_TRUE(hasty.receive(rank, hello, now));
  }
  // Ranks wait for rank 2. Its keeper reports nothing for 3 s, and then that the rank made
  // progress.
  auto wait = [&](double seconds, bool hasReported) {
    std::optional<Verdict> verdict;
    for (double until = now + seconds; now < until && !verdict; now += 0.25) {
      for (int rank = 0; rank < 4; ++rank)
        if (rank != 2 || hasReported)
          EXPECT_TRUE(hasty.receive(rank, beat(rank == 2 ? count : 1, rank == 2), now));
      verdict = hasty.tick(now);
    }
    return verdict;
  };
  EXPECT_FALSE(wait(0.5, true));
  EXPECT_FALSE(wait(3, false));
  ++count;
  EXPECT_FALSE(wait(0.75, true));
  std::optional<Verdict> verdict = wait(10, true);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 2);
}

TEST_F(HubTest, WaitsForNoOneThatHasNotJoined) {
  join(0);
  EXPECT_FALSE(pass(100, {0}));
  join(3); // late
  EXPECT_FALSE(pass(100, {0, 3}));
  EXPECT_EQ(hub.joined(), 2);
  EXPECT_FALSE(hub.receive(2, beat(1), now)); // a beat of a stranger
}

TEST_F(HubTest, BlamesTheFirstThatDied) {
  joinAll();
  EXPECT_FALSE(pass(3, {0, 1, 2, 3}));
  // Rank 1 lost others before rank 3's end was reported, so its message is not the cause.
  EXPECT_TRUE(hub.receive(1, end(3, 0, "all-reduce: not complete"), now));
  EXPECT_FALSE(pass(1, {0, 2, 3}));
  EXPECT_TRUE(hub.receive(3, end(0, 11), now));
  EXPECT_TRUE(hub.receive(0, end(0, 9), now));
  std::optional<Verdict> verdict = pass(2, {2});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 3);
  EXPECT_NE(verdict->report.find("died (signal 11, Segmentation fault)"), std::string::npos)
      << verdict->report;
}

// A rank that lost another one may be heard before that one.
TEST_F(HubTest, BlamesOneThatWasEndedFromOutside) {
  joinAll();
  EXPECT_TRUE(hub.receive(0, end(3, 0, "reading the memory of rank 1"), now));
  EXPECT_TRUE(hub.receive(1, end(0, SIGTERM), now));
  EXPECT_FALSE(pass(1.5, {2, 3})); // perhaps all are being ended
  std::optional<Verdict> verdict = pass(3, {2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 1);
}

TEST_F(HubTest, AsksWhereAllAreWhenOneDied) {
  joinAll();
  EXPECT_TRUE(hub.receive(2, end(0, 9), now));
  EXPECT_FALSE(hub.tick(now + 0.1));
  EXPECT_TRUE(hub.wantsBeats());
  for (int rank : {0, 1, 3})
    EXPECT_TRUE(hub.receive(rank, beat(2), now + 0.2));
  EXPECT_TRUE(hub.tick(now + 0.3));
  EXPECT_FALSE(hub.wantsBeats());
}

TEST_F(HubTest, LetsARankSpeakWhereNobodyDied) {
  joinAll();
  EXPECT_TRUE(hub.receive(1, end(3, 0, "all-reduce: not complete"), now));
  std::optional<Verdict> verdict = pass(5, {0, 2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->report, "dtrun: all-reduce: not complete\n");
}

// An error that the rank has printed itself is not printed again. Its exit code is the job's.
TEST_F(HubTest, IsQuietAboutAnErrorThatWasTold) {
  joinAll();
  EXPECT_TRUE(hub.receive(1, end(1, 0), now));
  std::optional<Verdict> verdict = pass(2, {0, 2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exitCode, 1);
  EXPECT_EQ(verdict->report, "");
  EXPECT_EQ(verdict->reason,
            "rank 1 on host 'h' (process 101) exited with code 1, an error that it has told");
}

// The error was found before a step had run.
TEST_F(HubTest, WantsNoRecordsWhereNothingRan) {
  joinAll();
  Frame frame = end(1, 0);
  frame.standing.trainingStep = 0;
  EXPECT_TRUE(hub.receive(1, frame, now));
  std::optional<Verdict> verdict = pass(2, {});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exitCode, 1);
  EXPECT_EQ(verdict->reason, "");
}

TEST_F(HubTest, NamesOneThatEndsTooEarly) {
  joinAll();
  EXPECT_TRUE(hub.receive(1, end(0, 0), now));
  std::optional<Verdict> verdict = pass(2, {0, 2, 3});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exitCode, 3);
  EXPECT_NE(verdict->report.find("exited with code 0 before the job's end"), std::string::npos);
}

TEST_F(HubTest, LetsFinishedRanksGo) {
  joinAll();
  Frame frame = end(0, 0);
  frame.ending.isFinished = true;
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(hub.receive(rank, frame, now));
    Frame leave;
    leave.kind = FrameKind::Leave;
    EXPECT_TRUE(hub.receive(rank, leave, now));
    hub.close(rank, "closed", now);
    EXPECT_TRUE(hub.isGone(rank));
  }
  EXPECT_FALSE(pass(100, {}));
}

TEST_F(HubTest, TakesNoContradiction) {
  joinAll();
  Frame hello;
  hello.kind = FrameKind::Hello;
  EXPECT_FALSE(hub.receive(1, hello, now)); // twice
  EXPECT_FALSE(hub.receive(4, beat(1), now));
  EXPECT_FALSE(hub.receive(-1, beat(1), now));
  EXPECT_TRUE(hub.receive(1, beat(1), now));
  Frame back = beat(2);
  back.standing.trainingStep = 3;
  EXPECT_FALSE(hub.receive(1, back, now));
  EXPECT_TRUE(hub.receive(1, end(0, 9), now));
  EXPECT_FALSE(hub.receive(1, beat(3), now)); // a beat of a dead rank
  Frame verdict;
  verdict.kind = FrameKind::Verdict;
  EXPECT_FALSE(hub.receive(2, verdict, now)); // only rank 0's keeper gives verdicts
  Frame leave;
  leave.kind = FrameKind::Leave;
  EXPECT_FALSE(hub.receive(2, leave, now)); // before its rank's end
}

// A rank that hangs is asked for its stacks. The others are reported together.
TEST_F(HubTest, NamesAHangWithItsStacks) {
  joinAll();
  double begin = now;
  std::optional<Verdict> verdict;
  for (; !verdict && now < begin + 100; now += 0.5) {
    for (int rank : {0, 1, 3})
      EXPECT_TRUE(hub.receive(rank, beat(20, false), now));
    EXPECT_TRUE(hub.receive(2, beat(20), now));
    verdict = hub.tick(now);
    if (hub.wantsStacksOf() == 2) {
      Frame stacks;
      stacks.kind = FrameKind::Stacks;
      stacks.stacks = "the thread of stream 0:\ndtrun: f() +0x1\n\x1b[31m\n";
      EXPECT_TRUE(hub.receive(2, stacks, now));
    }
  }
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->culprit, 2);
  EXPECT_GE(now - begin, 60);
  EXPECT_LE(now - begin, 63);
  EXPECT_NE(verdict->report.find("does not get on: it has been in step 12"), std::string::npos)
      << verdict->report;
  EXPECT_NE(verdict->report.find("    dtrun: f() +0x1\n    ?[31m\n"), std::string::npos)
      << verdict->report;
  EXPECT_NE(verdict->report.find("  ranks 0, 1 and 3, each: waits in step 12"), std::string::npos)
      << verdict->report;
}

// Runs `count` steps of `seconds`, after which rank 2 computes in one instruction. Returns the time
// after which that counts as a hang.
class HubTestOfSteps : public HubTest {
protected:
  double hangAfter(double seconds, uint64_t steps, double stoppedShare = 0) {
    share = stoppedShare;
    joinAll();
    for (uint64_t step = 1; step <= steps; ++step) {
      now += seconds;
      for (int rank = 0; rank < 4; ++rank)
        EXPECT_TRUE(hub.receive(rank, busyBeat(++count, step, seconds), now));
      EXPECT_FALSE(hub.tick(now));
    }
    double begin = now;
    std::optional<Verdict> verdict;
    for (; !verdict && now < begin + 1000; now += 0.5) {
      for (int rank : {0, 1, 3})
        EXPECT_TRUE(hub.receive(rank, beat(20, false), now));
      EXPECT_TRUE(hub.receive(2, busyBeat(20, steps, seconds), now));
      verdict = hub.tick(now);
    }
    EXPECT_EQ(verdict->culprit, 2);
    return now - begin;
  }
  // The rank works all the time.
  Frame busyBeat(uint64_t moves, uint64_t steps, double seconds) {
    Frame frame = beat(moves);
    frame.standing.isInStep = true;
    frame.standing.cpuMillis = static_cast<uint64_t>(now * 1000);
    auto nanos = static_cast<uint64_t>(seconds * 1e9) * steps;
    auto stopped = static_cast<uint64_t>(share * static_cast<double>(nanos));
    frame.standing.work = {0, steps, nanos, nanos, stopped};
    return frame;
  }
  double share = 0; // share of each step for which signals stop the ranks
};

TEST_F(HubTestOfSteps, FindsAHangSoonWhereStepsAreShort) {
  EXPECT_NEAR(hangAfter(1, 5), 63, 2); // includes the time for stacks
}
TEST_F(HubTestOfSteps, WaitsForTenSteps) { EXPECT_NEAR(hangAfter(20, 5), 203, 2); }
TEST_F(HubTestOfSteps, CountsNoTimeForWhichARankWasStopped) {
  EXPECT_NEAR(hangAfter(20, 5, 0.9), 63, 2);
}
TEST_F(HubTestOfSteps, WaitsForTheTimeoutWhileTheFirstStepsRun) {
  EXPECT_NEAR(hangAfter(1, 2), 603, 2);
}

// A rank that was stopped could not make progress.
TEST_F(HubTestOfSteps, GivesOneThatWasStoppedItsTime) {
  joinAll();
  auto passBusy = [&](double seconds, bool isStopped) {
    for (double until = now + seconds; now < until; now += 0.5) {
      for (int rank : {0, 1, 3})
        EXPECT_TRUE(hub.receive(rank, beat(20, false), now));
      Frame frame = busyBeat(20, 0, 1);
      frame.standing.isStopped = isStopped;
      frame.standing.cpuMillis = 0;
      EXPECT_TRUE(hub.receive(2, frame, now));
      if (std::optional<Verdict> verdict = hub.tick(now))
        return verdict->culprit;
    }
    return -1;
  };
  EXPECT_EQ(passBusy(50, true), -1);
  EXPECT_EQ(passBusy(50, false), -1);
  EXPECT_EQ(passBusy(20, false), 2);
}

TEST(ListOfRanks, IsBounded) {
  EXPECT_EQ(listOfRanks({3}), "rank 3");
  EXPECT_EQ(listOfRanks({0, 1, 5}), "ranks 0, 1 and 5");
  std::vector<int> many(1000);
  for (int i = 0; i < 1000; ++i)
    many[static_cast<size_t>(i)] = i;
  EXPECT_EQ(listOfRanks(many), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 992 more");
}

TEST_F(HubTest, SaysWhoHoldsTheOthersUp) {
  joinAll();
  std::string lines;
  for (uint64_t second = 1; second < 30; ++second) {
    now += 1;
    for (int rank = 0; rank < 4; ++rank) {
      Frame frame = beat(++count);
      frame.standing.work = {0, second * 50, second * (rank == 2 ? 500 : 250) * 1000000,
                             second * 1000000000, 0};
      ASSERT_TRUE(hub.receive(rank, frame, now));
    }
    lines += hub.tickStragglers(now);
  }
  EXPECT_EQ(lines, "dtrun: rank 2 on host 'h' (process 102) holds the others up: it works 10 ms of "
                   "a step, ranks with the same work 5 ms; that costs 25 % of a step\n");
  EXPECT_EQ(hub.workOf(2).step, 12u);
  EXPECT_NEAR(hub.workOf(2).workSeconds, 0.01, 1e-9);
  EXPECT_NEAR(hub.workOf(1).workSeconds, 0.005, 1e-9);
}

} // namespace
} // namespace dtc::rt

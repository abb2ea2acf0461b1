// Tests the marks of ranks, and the messages about ranks that do not come.
#include "runtime/comm/StartUp.h"
#include "runtime/comm/RankMarks.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

LaunchEnvironment rankOf(int rank, int size, int localSize) {
  LaunchEnvironment launch;
  launch.rank = rank;
  launch.size = size;
  launch.localSize = localSize;
  return launch;
}

std::string ownJob() { return "StartUpTest " + std::to_string(::getpid()); }

TEST(RankMarks, OthersSeeTheLatest) {
  RankMarks reader(rankOf(0, 3, 3), ownJob()), second(rankOf(2, 3, 3), ownJob()),
      stranger(rankOf(1, 3, 3), "another job");
  EXPECT_TRUE(reader.read().empty());
  second.leave(0);
  second.leave(3);
  stranger.leave(1);
  reader.leave(1);
  std::vector<RankMark> marks = reader.read();
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].rank, 0);
  EXPECT_EQ(marks[0].phase, 1);
  EXPECT_EQ(marks[1].rank, 2);
  EXPECT_EQ(marks[1].phase, 3);
  EXPECT_EQ(marks[1].process, ::getpid());
  EXPECT_FALSE(marks[1].isStopped);
}

TEST(RankMarks, EndWithTheirProcessAndTellThatItIsStopped) {
  std::string job = ownJob();
  RankMarks reader(rankOf(0, 2, 2), job);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    RankMarks mark(rankOf(1, 2, 2), job);
    mark.leave(0);
    (void)!::write(ready[1], "x", 1);
    for (;;)
      ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  int status = 0;
  ::kill(child, SIGSTOP);
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_EQ(reader.read().size(), 1u);
  EXPECT_TRUE(reader.read()[0].isStopped);
  EXPECT_EQ(reader.read()[0].process, child);
  reader.leave(static_cast<int>(Phase::JoiningWorld));
  EXPECT_EQ(describeMissing(rankOf(0, 2, 2), reader, Phase::JoiningWorld),
            "rank 1 (process " + std::to_string(child) + ") is stopped by a signal, starting MPI");
  EXPECT_EQ(describeLost(rankOf(0, 2, 2), reader),
            "rank 1 (process " + std::to_string(child) + ") is stopped by a signal");
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(reader.read().size(), 1u);
  EXPECT_EQ(describeLost(rankOf(0, 2, 2), reader), "rank 1 has ended");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(StartUp, NamesRanksThatDidNotComeOrStayBehind) {
  RankMarks mine(rankOf(0, 4, 4), ownJob()), slow(rankOf(2, 4, 4), ownJob());
  mine.leave(static_cast<int>(Phase::JoiningWorld));
  slow.leave(static_cast<int>(Phase::StartingMpi));
  EXPECT_EQ(describeMissing(rankOf(0, 4, 4), mine, Phase::JoiningWorld),
            "rank 2 (process " + std::to_string(::getpid()) +
                ") is still starting MPI; ranks 1 and 3 have not started dtrun, or ended");
  slow.leave(static_cast<int>(Phase::JoiningWorld));
  EXPECT_EQ(describeLost(rankOf(0, 4, 4), mine), "ranks 1 and 3 have ended");
  EXPECT_EQ(describeLost(rankOf(0, 8, 3), mine), "1 of the 3 ranks of this host have ended");
  EXPECT_EQ(describeLost(rankOf(0, 8, 2), mine), "");
  // If ranks are on several hosts, nobody here knows which of them are on this one.
  EXPECT_EQ(describeMissing(rankOf(0, 8, 3), mine, Phase::JoiningWorld),
            "1 of the 3 ranks of this host have not started dtrun, or ended");
  EXPECT_EQ(describeMissing(rankOf(0, 8, 2), mine, Phase::JoiningWorld),
            "ranks 0 and 2 of this host are here; a rank of another host is missing, or the "
            "network between hosts does not carry their messages");
  EXPECT_EQ(describeMissing(rankOf(0, 8, 2), mine, Phase::JoiningWorld, "rank 5 has not come"),
            "ranks 0 and 2 of this host are here; rank 5 has not come");
  EXPECT_EQ(describeMissing(rankOf(0, 8, 3), mine, Phase::JoiningWorld, "rank 5 has not come"),
            "1 of the 3 ranks of this host have not started dtrun, or ended; rank 5 has not come");
  EXPECT_EQ(describeMissing(rankOf(0, 2, 2), mine, Phase::JoiningWorld),
            "all ranks are here and none is stopped");
}

// The news that all have started matters for other hosts only if nothing is wrong on this one.
TEST(StartUp, BlamesNoOtherHostForARankOfThisOne) {
  RankMarks mine(rankOf(0, 4, 2), ownJob()), slow(rankOf(1, 4, 2), ownJob());
  mine.leave(static_cast<int>(Phase::JoiningWorld));
  slow.leave(static_cast<int>(Phase::StartingMpi));
  auto describe = [&] {
    return describeMissing(rankOf(0, 4, 2), mine, Phase::JoiningWorld, "all 4 have started", true);
  };
  EXPECT_EQ(describe(), "rank 1 (process " + std::to_string(::getpid()) +
                            ") is still starting MPI; all 4 have started");
  slow.leave(static_cast<int>(Phase::JoiningWorld));
  EXPECT_EQ(describe(), "ranks 0 and 1 of this host are here; all 4 have started, so that one of "
                        "another host hangs, or the network between hosts does not carry their "
                        "messages");
}

TEST(StartUpDeathTest, EndsTheProcessAfterTheDeadlineOfAPhase) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StartUp startUp(rankOf(0, 2, 2), {.seconds = 0.3});
        startUp.enter(Phase::StartingMpi);
        ::sleep(30);
      },
      testing::ExitedWithCode(3),
      "dtrun: rank 0 on host '.*' waited 0.3 s starting MPI: rank 1 has not started dtrun, or "
      "ended; .*DTC_START_TIMEOUT");
}

// The message names ranks that never started if the others wait for them, and not later.
TEST(StartUpDeathTest, TellsWhoHasStartedWhileMpiStarts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto start = [](Phase last) {
    ::setenv("SLURM_STEP_ID", "0", 1);
    ::setenv("SLURM_STEP_NODELIST", std::string(200, 'a').c_str(), 1); // leads nowhere
    LaunchEnvironment launch = rankOf(2, 4, 2);
    launch.launcher = Launcher::Slurm;
    StartUp startUp(
        // the first phase, which takes no time, may need that long on a busy machine
        launch, {.seconds = 2});
    startUp.enter(Phase::StartingMpi);
    startUp.enter(last);
    ::sleep(30);
  };
  EXPECT_EXIT(start(Phase::JoiningWorld), testing::ExitedWithCode(3),
              "joining all ranks in one communicator: 1 of the 2 ranks of this host have not "
              "started dtrun, or ended; rank 0 is looked for at 'a*' ");
  EXPECT_EXIT(start(Phase::ComparingJob), testing::ExitedWithCode(3),
              "comparing the job of the ranks: 1 of the 2 ranks of this host have not started "
              "dtrun, or ended; where ranks need longer");
}

// The phases together take longer than one may. Each may take as long again if others use the
// processor.
TEST(StartUp, EachPhaseHasTheWholeTimeAndNothingIsWatchedAfterwards) {
  StartUp startUp(rankOf(0, 2, 2), {.seconds = 2});
  for (Phase phase : {Phase::StartingMpi, Phase::JoiningWorld, Phase::ComparingJob}) {
    startUp.enter(phase);
    ::usleep(750'000);
  }
  startUp.done();
  ::usleep(2'200'000);
}

TEST(StartUp, APhaseThatBeginsAnewHasTheWholeTimeAgain) {
  StartUp startUp(rankOf(0, 2, 2), {.seconds = 2});
  for (int times = 0; times < 3; ++times) {
    startUp.enter(Phase::JoiningWorld);
    ::usleep(750'000);
  }
  startUp.done();
}

// If ranks work on their own, others do not know how long that takes, unless all are watched.
TEST(StartUpDeathTest, EndsTheProcessWhereNobodyWatchesWorkThatGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StartUp startUp(rankOf(0, 2, 2),
                        {.seconds = 0.05, .workSeconds = 2, .isWatched = [] { return false; }});
        startUp.enter(Phase::ReadingCheckpoint);
        ::usleep(300'000); // longer than other phases may take
        std::fputs("waits on\n", stderr);
        ::sleep(30);
      },
      testing::ExitedWithCode(3),
      "waits on\ndtrun: rank 0 on host '.*' waited 2 s reading a checkpoint: rank 1 has not "
      "started dtrun, or ended; ");
}

TEST(StartUp, LeavesWorkThatKeepersWatchToThem) {
  std::vector<Phase> reported;
  StartUp startUp(rankOf(0, 2, 2), {.seconds = 30,
                                    .workSeconds = 0.1,
                                    .isWatched = [] { return true; },
                                    .onPhase = [&](Phase phase) { reported.push_back(phase); }});
  EXPECT_EQ(startUp.patienceOf(7), 7);
  startUp.enter(Phase::MakingGroups);
  EXPECT_EQ(startUp.patienceOf(7), 7);
  startUp.enter(Phase::OpeningData);
  EXPECT_GT(startUp.patienceOf(7), 1e6);
  ::usleep(500'000);
  startUp.done();
  EXPECT_EQ(startUp.patienceOf(7), 7);
  EXPECT_EQ(reported, (std::vector<Phase>{Phase::MakingGroups, Phase::OpeningData}));
}

TEST(StartUp, HasANameForEachPhase) {
  std::set<std::string> names;
  for (uint32_t phase = 0; phase <= static_cast<uint32_t>(Phase::ReadingBatch); ++phase)
    names.insert(nameOf(static_cast<Phase>(phase)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Phase::ReadingBatch) + 1);
  EXPECT_EQ(names.count("starting"), 0u);
  EXPECT_STREQ(nameOf(static_cast<Phase>(4711)), "starting"); // a mark that does not exist
}

} // namespace
} // namespace dtc::rt

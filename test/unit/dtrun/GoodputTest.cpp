// Tests the causes of a job's time, over starts, failures and resumes.
#include "tools/dtrun/Goodput.h"
#include "runtime/base/Env.h"
#include "runtime/comm/RollCall.h"
#include "tools/dtrun/Watch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

namespace dtc::rt {
namespace {

double of(const SpentSeconds &spent, Spent what) { return spent[static_cast<size_t>(what)]; }
double shareOf(const Goodput &goodput, Spent what, double now) {
  return of(goodput.shares(now), what);
}
SpentSeconds spentOn(std::initializer_list<std::pair<Spent, double>> parts) {
  SpentSeconds all = {};
  for (auto [what, seconds] : parts)
    all[static_cast<size_t>(what)] = seconds;
  return all;
}

TEST(Goodput, SharesAddUpToOne) {
  Goodput goodput(100, 104);
  EXPECT_EQ(shareOf(goodput, Spent::StartUp, 108), 1);
  EXPECT_EQ(goodput.enter(Spent::Training, 110), Spent::StartUp);
  EXPECT_EQ(goodput.enter(Spent::Evaluation, 118), Spent::Training);
  goodput.enter(Spent::Training, 119);
  goodput.move(2, Spent::Training, Spent::InputWait);
  EXPECT_DOUBLE_EQ(shareOf(goodput, Spent::StartUp, 120), 0.5);
  EXPECT_DOUBLE_EQ(shareOf(goodput, Spent::Training, 120), 0.35);
  EXPECT_DOUBLE_EQ(shareOf(goodput, Spent::InputWait, 120), 0.1);
  EXPECT_DOUBLE_EQ(shareOf(goodput, Spent::Evaluation, 120), 0.05);
  SpentSeconds all = goodput.shares(120);
  EXPECT_DOUBLE_EQ(std::accumulate(all.begin(), all.end(), 0.0), 1);
  EXPECT_EQ(goodput.elapsed(120), 20);
}

TEST(Goodput, MovesNoMoreThanThereIs) {
  Goodput goodput(0, 2);
  goodput.enter(Spent::Training, 2);
  goodput.enter(Spent::Other, 3);
  goodput.move(5, Spent::Training, Spent::Lost);
  goodput.move(-5, Spent::StartUp, Spent::Lost);
  EXPECT_EQ(shareOf(goodput, Spent::Training, 4), 0);
  EXPECT_EQ(shareOf(goodput, Spent::Lost, 4), 0.25);
}

// 10 s have passed since a checkpoint at 3 s of training. 4 s of them were waits, which have their
// own cause, and one step was skipped.
TEST(Goodput, TakesBackTheTrainingSinceACheckpoint) {
  Goodput goodput(0, 2);
  goodput.enter(Spent::Training, 2);
  SpentSeconds kept = goodput.seconds(5);
  goodput.enter(Spent::Training, 15);
  goodput.move(4, Spent::Training, Spent::InputWait);
  goodput.move(1, Spent::Training, Spent::Lost);
  goodput.takeBack(kept, 15);
  SpentSeconds now = goodput.seconds(15);
  EXPECT_EQ(of(now, Spent::Training), 3);
  EXPECT_EQ(of(now, Spent::InputWait), 4);
  EXPECT_EQ(of(now, Spent::Lost), 6);
  EXPECT_EQ(goodput.elapsed(15), 15);
}

TEST(Goodput, KnowsWhenTheProcessBegan) {
  double began = processBegan(), now = clockSeconds();
  EXPECT_LE(began, now);
  EXPECT_GT(began, now - 3600);
  EXPECT_GT(residentBytes(), 1u << 20);
}

// The checkpoint has 60 s of training, and this process took 5 s to start. Time between the two is
// not counted.
TEST(Goodput, GoesOnWhereACheckpointWasTaken) {
  Goodput goodput(1000, 1004);
  goodput.addEarlier(
      spentOn({{Spent::Training, 60}, {Spent::Evaluation, 20}, {Spent::StartUp, 5}}));
  goodput.enter(Spent::Training, 1005);
  EXPECT_EQ(goodput.elapsed(1015), 100);
  EXPECT_DOUBLE_EQ(shareOf(goodput, Spent::Training, 1015), 0.7);
  EXPECT_DOUBLE_EQ(shareOf(goodput, Spent::StartUp, 1015), 0.1);
  EXPECT_EQ(shareOf(goodput, Spent::Restarting, 1015), 0);
}

// The job trained 50 s, of which a checkpoint has 30, and failed 8 s ago.
TEST(Goodput, LosesTheStepsThatRunAgain) {
  Goodput goodput(0, 3);
  SpentSeconds job = spentOn(
      {{Spent::StartUp, 10}, {Spent::Training, 50}, {Spent::Evaluation, 5}, {Spent::Lost, 1}});
  goodput.startAgain(job, /*kept=*/30, /*ago=*/8, 3);
  EXPECT_EQ(goodput.enter(Spent::Training, 5), Spent::Restarting);
  SpentSeconds found = goodput.seconds(25);
  EXPECT_EQ(found, spentOn({{Spent::StartUp, 10},
                            {Spent::Training, 50},
                            {Spent::Evaluation, 5},
                            {Spent::Lost, 1},
                            {Spent::LostToFailures, 20},
                            {Spent::Restarting, 10}}));
  EXPECT_EQ(goodput.elapsed(25), 96);
}

TEST(Goodput, KeepsStepsOfACheckpointThatTheLauncherWasNotToldOf) {
  Goodput goodput(0, 0);
  SpentSeconds job = spentOn({{Spent::Training, 50}, {Spent::LostToFailures, 3}});
  goodput.startAgain(job, /*kept=*/52, /*ago=*/1, 0);
  EXPECT_EQ(goodput.seconds(0),
            spentOn({{Spent::Training, 52}, {Spent::LostToFailures, 1}, {Spent::Restarting, 1}}));
  // A checkpoint cannot have more than the training took.
  goodput.startAgain(job, /*kept=*/1e9, /*ago=*/-1, 0);
  EXPECT_EQ(goodput.seconds(0), spentOn({{Spent::Training, 53}}));
}

TEST(JobSpent, IsReadAsWritten) {
  JobSpent job{.until = 1795702338.25, .seconds = spentOn({{Spent::Training, 12.5}})};
  std::optional<JobSpent> read = jobSpentOf(asText(job));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->until, job.until);
  EXPECT_EQ(read->seconds, job.seconds);
  read = jobSpentOf(asText({.until = 7, .seconds = std::nullopt}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->until, 7);
  EXPECT_FALSE(read->seconds);
  for (const char *words :
       {"", "x", "1 2", "1 2 3 4 5 6 7 8 9", "1 2 3 4 5 6 7 8 9 nan", "1 2 3 4 5 6 7 8 9 -1",
        "1 2 3 4 5 6 7 8 9 1e13", "1,2", "1 2 3 4 5 6 7 8 9 10 11"})
    EXPECT_FALSE(jobSpentOf(words)) << words;
}

// A job begins at 100 and fails at 150, 2 s after its last note. The next start fails at 160 before
// a step, and the one after that at 200.
TEST(JobSpent, GoesOnOverFailures) {
  JobSpent job{.until = 100, .seconds = std::nullopt};
  SpentSeconds first = spentOn({{Spent::StartUp, 8}, {Spent::Training, 40}});
  job = afterFailure(job, asText({.until = 148, .seconds = first}), 150);
  EXPECT_EQ(job.until, 150);
  EXPECT_EQ(job.seconds,
            spentOn({{Spent::StartUp, 8}, {Spent::Training, 40}, {Spent::LostToFailures, 2}}));
  JobSpent same = afterFailure(job, "", 160);
  EXPECT_EQ(same.until, 150) << "starting goes on";
  EXPECT_EQ(same.seconds, job.seconds);
  SpentSeconds third = spentOn({{Spent::Training, 50}, {Spent::Restarting, 15}});
  job = afterFailure(same, asText({.until = 199, .seconds = third}), 198);
  EXPECT_EQ(job.seconds, third) << "a word after the failure";
  // Before any step only the begin is known.
  EXPECT_EQ(afterFailure({.until = 100, .seconds = std::nullopt}, "what", 120).until, 100);
}

TEST(RollCall, KeepsTheLastNoteAndTheTimeOfTheCause) {
  RollCall roll;
  roll.open();
  ASSERT_NE(roll.name(), "1");
  ::setenv(envInfo(EnvVar::Child).name, roll.name().c_str(), 1);
  // These are more notes than the socket holds: what does not fit is dropped, and nobody waits.
  for (int i = 0; i < 2000; ++i)
    leaveNote("first");
  roll.read();
  EXPECT_EQ(roll.note(), "first");
  leaveNote("second");
  sendToLauncher("dtrun: over\nand more");
  roll.read();
  ::unsetenv(envInfo(EnvVar::Child).name);
  EXPECT_EQ(roll.note(), "second");
  EXPECT_EQ(roll.cause(), "over");
  EXPECT_NEAR(roll.causeTime(), clockSeconds(), 60);
  EXPECT_TRUE(roll.isDeserted()) << "none of them is an answer";
}

} // namespace
} // namespace dtc::rt

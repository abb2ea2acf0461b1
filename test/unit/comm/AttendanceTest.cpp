// Tests which hosts' ranks have started, as ranks find out beside MPI.
#include "runtime/comm/Attendance.h"
#include "runtime/comm/JoinRendezvous.h"
#include "runtime/comm/RendezvousHello.h"
#include "runtime/comm/RendezvousWire.h"
#include "test/unit/comm/RanksAsThreads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <sys/resource.h>

namespace dtc::rt {
namespace {

class AttendanceTest : public testing::Test {
protected:
  // Joins as a rank of a job with two ranks on each host.
  std::unique_ptr<Attendance> attend(int rank, int size, double seconds, int localSize = 2) {
    LaunchEnvironment launch;
    launch.launcher = launcher;
    launch.rank = rank;
    launch.size = size;
    launch.localSize = localSize;
    return std::make_unique<Attendance>(
        launch,
        [this](const char *name) -> const char * {
          auto at = variables.find(name);
          return at == variables.end() ? nullptr : at->second.c_str();
        },
        seconds);
  }

  Launcher launcher = Launcher::OpenMpi;
  std::string port = std::to_string(test::freePort());
  std::map<std::string, std::string> variables = {
      {"PMIX_NAMESPACE", test::ownJobName()},
      {"OMPI_MCA_orte_hnp_uri", "76.0;tcp://127.0.0.1:5"},
      {"DTC_RENDEZVOUS_PORT", port},
      // Variables of another job, which does not use MPI.
      {"MASTER_ADDR", "nowhere.invalid"},
      {"MASTER_PORT", "http"}};
};

TEST_F(AttendanceTest, KnowsThatAllHaveStarted) {
  auto first = attend(0, 4, 20), second = attend(1, 4, 20), third = attend(2, 4, 20);
  EXPECT_EQ(first->words(), "");
  double begin = now();
  auto fourth = attend(3, 4, 20);
  for (Attendance *each : {first.get(), second.get(), third.get(), fourth.get()})
    EXPECT_EQ(each->words(5), "all 4 ranks of the job have started dtrun");
  EXPECT_TRUE(first->haveAllCome() && fourth->haveAllCome());
  EXPECT_LT(now() - begin, 5); // returns as soon as it is known
}

TEST_F(AttendanceTest, TellsAllRanksWhoIsMissing) {
  auto first = attend(0, 4, 0.5), second = attend(2, 4, 20);
  std::string host = ownHostName();
  for (Attendance *each : {first.get(), second.get()})
    EXPECT_EQ(each->words(5), "ranks 1 and 3 of 4 have not come to port " + port + " of host '" +
                                  host + "'; here are rank 2 on host '" + host + "'");
  EXPECT_FALSE(first->haveAllCome() || second->haveAllCome());
}

TEST_F(AttendanceTest, SaysWhereRankZeroIsLookedFor) {
  auto second = attend(2, 4, 0.3);
  std::string words = second->words(5);
  EXPECT_TRUE(words.starts_with("no rank 0 of this job is at '127.0.0.1' (OMPI_MCA_orte_hnp_uri), "
                                "port " +
                                port + " ("))
      << words;
  EXPECT_TRUE(words.ends_with("): it has not started dtrun, is elsewhere, or its port is closed"))
      << words;
}

// Nodes of srun have names, which are looked up before MPI starts.
TEST_F(AttendanceTest, KnowsAHostByItsName) {
  launcher = Launcher::Slurm;
  variables["SLURM_STEP_ID"] = "0";
  variables["SLURM_STEP_NODELIST"] = "localhost";
  auto second = attend(2, 4, 0.3);
  std::string words = second->words(5);
  EXPECT_TRUE(words.starts_with("no rank 0 of this job is at 'localhost' (SLURM_STEP_NODELIST), "
                                "port " +
                                port + " ("))
      << words;
  auto first = attend(0, 2, 20, 1), third = attend(1, 2, 20, 1);
  EXPECT_EQ(third->words(5), "all 2 ranks of the job have started dtrun");
  std::string none(200, 'a'); // a part of a name may not be so long
  variables["SLURM_STEP_NODELIST"] = none;
  auto lost = attend(2, 4, 20);
  words = lost->words();
  EXPECT_TRUE(words.starts_with("rank 0 is looked for at '" + none +
                                "' (SLURM_STEP_NODELIST), a name without an address: "))
      << words;
}

// A stranger who listens at rank 0's port, answers with `answers` whatever comes, and counts it.
class Stranger {
public:
  Stranger(const std::string &port, std::vector<Message> answers) : answers(std::move(answers)) {
    int error = 0;
    EXPECT_TRUE(listenOn(static_cast<uint16_t>(std::stoi(port)), listener, error).ok());
    thread = std::thread([this] { listen(); });
  }
  ~Stranger() {
    isOver = true;
    thread.join();
    ::close(listener);
  }
  int calls() const { return count; }

private:
  void listen() {
    while (!isOver) {
      int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket < 0) {
        ::usleep(1000);
        continue;
      }
      ++count;
      Wire wire(socket);
      Message message;
      std::string why;
      if (answers.empty() || !wire.await(4096, now() + 5, message, why))
        continue;
      for (const Message &answer : answers)
        wire.send(answer.word, answer.payload);
      (void)wire.await(4096, now() + 5, message, why); // waits until the guest has left
    }
  }

  std::vector<Message> answers;
  int listener = -1;
  std::atomic<bool> isOver = false;
  std::atomic<int> count = 0;
  std::thread thread;
};

// Words that arrive at rank 0's port are printed, whoever sends them.
TEST_F(AttendanceTest, MakesWordsOfStrangersFitForATerminal) {
  std::string hostile = "\x1b[2J\x9b"
                        "31m gone\ndtrun: rank 3 died\t" +
                        std::string(7000, 'x');
  auto expectFit = [](const std::string &words) {
    EXPECT_EQ(words.find("\\x1b[2J\\x9b31m gone dtrun: rank 3 died x"), words.find("\\x1b"));
    EXPECT_NE(words.find("\\x1b"), std::string::npos) << words;
    EXPECT_TRUE(std::all_of(words.begin(), words.end(), [](char letter) {
      return letter >= ' ' && letter <= '~';
    })) << words;
    EXPECT_LT(words.size(), 2500u);
  };
  {
    Stranger stranger(port, {{Word::Taken, ""}, {Word::Failed, hostile}});
    expectFit(attend(2, 4, 20)->words(5));
  }
  Stranger stranger(port, {{Word::Refused, hostile}});
  RendezvousOptions options;
  options.rank = 1;
  options.size = 4;
  options.host = "127.0.0.1";
  options.ports = {static_cast<uint16_t>(std::stoi(port))};
  options.seconds = 20;
  std::unique_ptr<Rendezvous> rendezvous;
  Status status = joinRendezvous(options, rendezvous);
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  expectFit(status.message());
}

// A thousand ranks may look for a rank 0 that never comes. If they tried every half second, this
// rank would try 15 times.
TEST_F(AttendanceTest, CallsLessAndLessOftenAndLeavesAtOnce) {
  Stranger stranger(port, {});
  auto second = attend(2, 4, 60);
  EXPECT_EQ(second->words(4), "");
  EXPECT_GE(stranger.calls(), 3);
  EXPECT_LT(stranger.calls(), 14);
  double begin = now();
  second.reset();
  EXPECT_LT(now() - begin, 0.5);
}

// Jobs of 4 and more ranks look for it, if there are files for so many connections, and no more
// than 512 for MPI.
TEST_F(AttendanceTest, LooksForNoRankZeroThatMayNotListen) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 516;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_NE(attend(2, 4, 0.1)->words(5), "");
  EXPECT_EQ(attend(2, 5, 0.1)->words(5), "");
  EXPECT_EQ(attend(0, 5, 0.1)->words(5), "");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// Nothing is known, nothing is waited for, and no port is open.
TEST_F(AttendanceTest, DoesNothingWhereNothingTellsOrAllIsOver) {
  auto begin = std::chrono::steady_clock::now();
  int socket = -1, error = 0;
  {
    auto onOneHost = attend(0, 2, 20);
    EXPECT_TRUE(listenOn(static_cast<uint16_t>(std::stoi(port)), socket, error).ok());
    // The port is in use.
    auto first = attend(0, 4, 0.3);
    EXPECT_EQ(first->words(0.6), "");
    ::close(socket);
    auto ended = attend(0, 4, 20), late = attend(2, 4, 20);
    ended->end();
    late->end();
    variables.erase("OMPI_MCA_orte_hnp_uri");
    auto nowhere = attend(2, 4, 0.1);
    EXPECT_EQ(nowhere->words(0.3), "");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

} // namespace
} // namespace dtc::rt

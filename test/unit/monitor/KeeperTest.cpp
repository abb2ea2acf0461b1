// Tests keepers as processes, with ranks that are functions.
#include "runtime/monitor/Keeper.h"
#include "runtime/monitor/StackNames.h"

#include "runtime/monitor/Frames.h"
#include "runtime/monitor/Stacks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

class KeeperTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/keeper-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  // Starts the keeper of `rank` of two, whose rank runs `run`.
  pid_t start(const std::function<int(Progress &)> &run, int rank) const {
    pid_t process = ::fork();
    if (process != 0)
      return process;
    if (!std::freopen(file(rank).c_str(), "w", stderr))
      ::_exit(99);
    // a sanitizer's own handler would end the process with a code
    (void)std::signal(SIGSEGV, SIG_DFL);
    KeeperOptions options;
    options.flightFolder = folder;
    options.patience.hangSeconds = 1;
    options.patience.startSeconds = startSeconds;
    options.launch.rank = rank;
    options.launch.size = 2;
    int code = keepRank(options, run);
    std::fflush(stderr);
    ::_exit(code);
  }
  std::string file(int rank) const { return folder + "/err" + std::to_string(rank); }
  // Returns its exit code, and what keeper and rank wrote to stderr.
  int end(pid_t process, int rank) {
    int status = 0;
    ::waitpid(process, &status, 0);
    std::ifstream stream(file(rank));
    said.assign(std::istreambuf_iterator<char>(stream), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int keep(const std::function<int(Progress &)> &run, int rank = 0) {
    auto begin = std::chrono::steady_clock::now();
    int code = end(start(run, rank), rank);
    took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return code;
  }
  // Expects a message of `before`, whole seconds, " s" and `after`, with at least `least` seconds
  // and at most the time of keep(). A keeper that waits for the processor is later, and reports
  // that time.
  void expectSeconds(const std::string &before, int least, const std::string &after) const {
    size_t at = said.find(before);
    ASSERT_NE(at, std::string::npos) << said;
    char *rest = nullptr;
    double seconds = std::strtod(said.c_str() + at + before.size(), &rest);
    EXPECT_GE(seconds, least) << said;
    EXPECT_LE(seconds, took) << said;
    EXPECT_EQ(seconds, std::floor(seconds)) << said;
    EXPECT_TRUE(std::string_view(rest).starts_with(" s" + after)) << said;
  }

  std::string folder, said;
  double startSeconds = 120, took = 0;
};

TEST_F(KeeperTest, PassesOnTheEnd) {
  EXPECT_EQ(keep([](Progress &progress) {
              progress.enter(Activity::Finished);
              return 0;
            }),
            0);
  EXPECT_EQ(said, "");
  EXPECT_EQ(keep([](Progress &) { return 1; }), 1);
  EXPECT_EQ(said, "");
}

TEST_F(KeeperTest, SaysHowARankDiedThatHadNobody) {
  EXPECT_EQ(keep([](Progress &) { return ::raise(SIGKILL); }), 3);
  EXPECT_NE(said.find("dtrun: rank 0 on host '"), std::string::npos) << said;
  EXPECT_NE(said.find(" died (signal 9, Killed); somebody sent it"), std::string::npos) << said;
  EXPECT_TRUE(std::filesystem::exists(folder + "/flight-rank-0.json"));
  EXPECT_EQ(keep([](Progress &) { return 0; }, 1), 3);
  EXPECT_NE(said.find(" exited with code 0 before the job's end"), std::string::npos) << said;
}

// The reason is the same as when keepers have met, with the place beside it.
TEST_F(KeeperTest, WritesARecordOfARankThatHadNobody) {
  EXPECT_EQ(keep(
                [](Progress &progress) {
                  progress.enterStep(0, 0, 9);
                  return 4;
                },
                1),
            4);
  EXPECT_EQ(said, "");
  std::ifstream file(folder + "/flight-rank-1.json");
  std::string json(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(json.find(") exited with code 4, as training diverged\", \"place\": \""),
            std::string::npos)
      << json;
}

TEST_F(KeeperTest, SaysWhatARankSaidThatLostOthers) {
  EXPECT_EQ(keep([](Progress &progress) {
              progress.say("all-reduce\x1b: not complete");
              return 3;
            }),
            3);
  EXPECT_NE(said.find("dtrun: all-reduce?: not complete\n"), std::string::npos) << said;
}

TEST_F(KeeperTest, WritesARecordWheneverItIsAsked) {
  EXPECT_EQ(keep([&](Progress &progress) {
              // Under load, events continue while signals arrive.
              for (int i = 0; i < 300000; ++i) {
                uint64_t event = progress.schedule(1, 0, Meets::Collective);
                progress.begin(0, 1, event, 1);
                progress.end(0, event, 2);
                if (i % 30000 == 0)
                  (void)::raise(SIGUSR1);
              }
              std::string path = folder + "/flight-rank-0.json";
              for (int i = 0; i < 200 && !std::filesystem::exists(path); ++i)
                ::usleep(20000);
              progress.enter(Activity::Finished);
              return std::filesystem::exists(path) ? 0 : 5;
            }),
            0);
  std::ifstream file(folder + "/flight-rank-0.json");
  std::string json(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(json.find("\"reason\": \"SIGUSR1\""), std::string::npos);
  EXPECT_EQ(json.substr(json.size() - 2), "}\n");
}

TEST_F(KeeperTest, EndsWithASignalFromOutside) {
  EXPECT_EQ(keep([](Progress &) {
              ::kill(::getppid(), SIGTERM);
              for (;;)
                ::pause();
              return 0;
            }),
            128 + SIGTERM);
  EXPECT_EQ(said, "");
}

// The rank ends with its keeper.
TEST_F(KeeperTest, TakesItsRankAlong) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  EXPECT_EQ(keep([&](Progress &) {
              pid_t self = ::getpid();
              if (::write(pipes[1], &self, sizeof(self)) == sizeof(self))
                ::kill(::getppid(), SIGKILL);
              for (;;)
                ::pause();
              return 0;
            }),
            128 + SIGKILL);
  pid_t rank = 0;
  ASSERT_EQ(::read(pipes[0], &rank, sizeof(rank)), static_cast<ssize_t>(sizeof(rank)));
  for (int i = 0; i < 200 && ::kill(rank, 0) == 0; ++i)
    ::usleep(10000);
  std::ifstream state("/proc/" + std::to_string(rank) + "/stat");
  std::string line;
  std::getline(state, line);
  EXPECT_TRUE(line.empty() || line.find(") Z ") != std::string::npos) << line;
  ::kill(rank, SIGKILL);
  ::close(pipes[0]);
  ::close(pipes[1]);
}

// Runs as a rank of a job in which the keepers know each other. `told` carries the address.
void meet(Progress &progress, int rank, const int *sharedPipe) {
  KeeperAddress &address = progress.shared().address;
  ssize_t size = rank == 0 ? ::write(sharedPipe[1], &address, sizeof(address))
                           : ::read(sharedPipe[0], &address, sizeof(address));
  if (size == static_cast<ssize_t>(sizeof(address)))
    progress.shared().hasAddress = 1;
}

[[noreturn]] void stayInAnInstruction(Progress &progress) {
  progress.deviceReports();
  progress.enter(Activity::Stepping);
  progress.enterStep(0, 0, 3);
  progress.beginThread(0);
  progress.begin(0, 0, 0, 0);
  for (;;)
    ::pause();
}

class TwoKeepers : public KeeperTest {
protected:
  void SetUp() override {
    KeeperTest::SetUp();
    ASSERT_EQ(::pipe(sharedPipe), 0);
  }
  void TearDown() override {
    ::close(sharedPipe[0]);
    ::close(sharedPipe[1]);
    KeeperTest::TearDown();
  }
  int sharedPipe[2] = {-1, -1};
};

bool isWatchedSoon(const Progress &progress) {
  for (int i = 0; i < 500 && !progress.isWatched(); ++i)
    ::usleep(10000);
  return progress.isWatched();
}

// Ranks cannot rely on keepers before they have met.
TEST_F(TwoKeepers, SayThatTheyWatchOnceBothHaveMet) {
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  pid_t first = start(
      [&](Progress &progress) {
        meet(progress, 0, sharedPipe);
        ::usleep(500000);
        int code = progress.isWatched() ? 5 : 0;
        if (::write(go[1], "x", 1) != 1 || (code == 0 && !isWatchedSoon(progress)))
          code = 6;
        progress.enter(Activity::Finished);
        return code;
      },
      0);
  pid_t second = start(
      [&](Progress &progress) {
        char byte;
        int code = ::read(go[0], &byte, 1) == 1 && !progress.isWatched() ? 0 : 5;
        meet(progress, 1, sharedPipe);
        if (code == 0 && !isWatchedSoon(progress))
          code = 6;
        progress.enter(Activity::Finished);
        return code;
      },
      1);
  EXPECT_EQ(end(first, 0), 0) << said;
  EXPECT_EQ(end(second, 1), 0) << said;
  ::close(go[0]);
  ::close(go[1]);
}

TEST_F(TwoKeepers, NameAHangWithItsStack) {
  EXPECT_EQ(keep([&](Progress &progress) {
              meet(progress, 0, sharedPipe);
              stayInAnInstruction(progress);
              return 0;
            }),
            3);
  expectSeconds(" does not get on: it has been in step 3, issue 0 for ", 1,
                "\n  its stacks:\n    the thread of stream 0 (");
  EXPECT_NE(said.find("stayInAnInstruction"), std::string::npos) << said;
}

// Its keeper takes as long for the stacks as a machine that sleeps, and the rank writes something
// in the meantime.
int elsewhere = -1;
void answerSlowly(int) {
  static std::atomic<int> times{0};
  if (times.fetch_add(1) > 0)
    ::_exit(9); // it is asked again
  (void)!::write(elsewhere, "x", 1);
  (void)::kill(::getppid(), SIGSTOP);
  ::usleep(2200000);
  (void)::kill(::getppid(), SIGCONT);
}

// The request for rank 0's stacks does not count as progress of the rank.
TEST_F(TwoKeepers, AskForStacksOnce) {
  startSeconds = 1;
  EXPECT_EQ(keep([&](Progress &progress) {
              elsewhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
              (void)std::signal(SIGRTMIN + 9, answerSlowly);
              progress.beginThread(ProgressPage::kHostStream);
              meet(progress, 0, sharedPipe);
              for (;;)
                ::pause();
              return 0;
            }),
            3);
  expectSeconds(" does not get on: it has been in starting for ", 3, "\n");
}

[[gnu::noinline]] int stopWhereNobodyAnswers() { return ::raise(SIGSTOP) + 1; }

TEST_F(TwoKeepers, NameAStoppedRankWithItsStack) {
  EXPECT_EQ(keep([&](Progress &progress) {
              meet(progress, 0, sharedPipe);
              progress.enter(Activity::Stepping);
              return stopWhereNobodyAnswers();
            }),
            3);
  expectSeconds(" is stopped by a signal, and has been in between instructions for ", 1,
                "\n  its stacks:\n    the host's thread (");
  EXPECT_NE(said.find("stopWhereNobodyAnswers"), std::string::npos) << said;
}

// Steps were short, so an instruction that computes for so long is a hang. --timeout would be 600
// s.
TEST_F(TwoKeepers, NameAnInstructionThatComputesForEver) {
  EXPECT_EQ(keep([&](Progress &progress) {
              meet(progress, 0, sharedPipe);
              progress.deviceReports();
              progress.enter(Activity::Stepping);
              for (uint32_t step = 1; step <= 25; ++step) { // for more than two beats
                progress.enterStep(step, 0, step);
                ::usleep(100000);
                progress.addWork(0, 0.1, 0.1);
              }
              progress.enterStep(26, 0, 26);
              progress.begin(0, uint64_t(26) << 32, 0, 0);
              for (std::atomic<int> turns = 0;; ++turns)
                ;
              return 0;
            }),
            3);
  EXPECT_NE(said.find(" does not get on: it has been in step 26, issue 0 for "), std::string::npos)
      << said;
}

// The host knows of a GPU in a step only that it is in one.
TEST(Standing, TellsASilentDeviceFromAHostAtWork) {
  auto page = std::make_unique<ProgressPage>();
  Progress progress(*page, -1);
  progress.enter(Activity::Stepping);
  auto position = [&] { return standingOf(*page, {}, 0).position; };
  EXPECT_EQ(position(), "between instructions");
  progress.enterStep(0, 0, 5);
  EXPECT_EQ(position(), "step 5, on a device that does not tell where it is");
  EXPECT_TRUE(standingOf(*page, {}, 0).isInStep);
  progress.enter(Activity::Working);
  EXPECT_EQ(position(), "reading or writing files, step 5");
  progress.enter(Activity::Stepping);
  progress.addWork(0, 1, 1); // the work is over
  EXPECT_EQ(position(), "between instructions, step 5");
  progress.enterStep(1, 1, 5); // an evaluation
  EXPECT_FALSE(standingOf(*page, {}, 0).isInStep);
}

TEST_F(TwoKeepers, EndTogetherAndNameTheOneThatCrashed) {
  pid_t first = start(
      [&](Progress &progress) {
        meet(progress, 0, sharedPipe);
        progress.enter(Activity::Working);
        for (;;)
          ::pause();
        return 0;
      },
      0);
  pid_t second = start(
      [&](Progress &progress) {
        meet(progress, 1, sharedPipe);
        return isWatchedSoon(progress) ? ::raise(SIGSEGV) : 6;
      },
      1);
  EXPECT_EQ(end(second, 1), 3);
  EXPECT_EQ(said, "");
  EXPECT_EQ(end(first, 0), 3);
  EXPECT_EQ(said.find("dtrun: rank 1 on host '"), 0u) << said;
  EXPECT_NE(said.find("died (signal 11, Segmentation fault)"), std::string::npos) << said;
  EXPECT_NE(said.find("EndTogetherAndNameTheOneThatCrashed"), std::string::npos)
      << said; // its stack
  EXPECT_NE(said.find("  rank 0 is in reading or writing files"), std::string::npos) << said;
  for (const char *name : {"/flight-rank-0.json", "/flight-rank-1.json"})
    EXPECT_TRUE(std::filesystem::exists(folder + name));
}

// Each rank of a job that has trained leaves a record with the reason for its end, except after a
// request.
TEST_F(TwoKeepers, WriteRecordsOfEachFailure) {
  const struct {
    int code;
    uint32_t steps;
    const char *reason; // nullptr if there is no record
  } cases[] = {
      {70, 0, "exited with code 70, an internal error"},
      {1, 9, "exited with code 1, an error that it has told"},
      {143, 9, nullptr},
  };
  for (const auto &each : cases) {
    // Rank 0 ends 0.15 s after rank 1, whenever that is.
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    auto run = [&](int rank) {
      return [&each, &ends, rank, this](Progress &progress) {
        if (each.steps)
          progress.enterStep(0, 0, each.steps);
        meet(progress, rank, sharedPipe);
        char byte = 'x';
        if (!isWatchedSoon(progress) ||
            (rank == 1 ? ::write(ends[1], &byte, 1) : ::read(ends[0], &byte, 1)) != 1)
          return 6;
        if (rank == 0)
          ::usleep(150000);
        return each.code;
      };
    };
    pid_t processes[] = {start(run(0), 0), start(run(1), 1)};
    EXPECT_EQ(end(processes[1], 1), each.code);
    EXPECT_EQ(said, "");
    EXPECT_EQ(end(processes[0], 0), each.code);
    EXPECT_EQ(said, each.reason ? "dtrun: flight records are in " + folder + "/flight-rank-R.json\n"
                                : "");
    for (const char *name : {"/flight-rank-0.json", "/flight-rank-1.json"}) {
      std::ifstream file(folder + name);
      std::string json(std::istreambuf_iterator<char>(file), {});
      EXPECT_EQ(json.empty(), !each.reason) << each.code;
      if (each.reason)
        EXPECT_NE(json.find(std::string(") ") + each.reason + "\", \"place\""), std::string::npos)
            << json;
      std::filesystem::remove(folder + name);
    }
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

int connectTo(const KeeperAddress &address) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = address.port;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  (void)::connect(socket, reinterpret_cast<sockaddr *>(&to), sizeof(to));
  return socket;
}

// A stranger who connects and sends nothing, anything, or that it is a rank, without the secret,
// has no effect.
TEST_F(TwoKeepers, HeedNoStrangers) {
  std::function<int(Progress &)> run[] = {[&](Progress &progress) {
                                            meet(progress, 0, sharedPipe);
                                            ::usleep(1500000);
                                            progress.enter(Activity::Finished);
                                            return 0;
                                          },
                                          [&](Progress &progress) {
                                            meet(progress, 1, sharedPipe);
                                            Frame lie;
                                            lie.kind = FrameKind::Hello;
                                            lie.rank = 1;
                                            for (int i = 0; i < 40; ++i) {
                                              int socket = connectTo(progress.shared().address);
                                              std::vector<uint8_t> bytes = encode(lie);
                                              if (i % 4 == 1)
                                                bytes.assign(9000, static_cast<uint8_t>(i * 37));
                                              if (i % 4 == 2)
                                                bytes[0] = 255; // gives a length that is too large
                                              if (i % 4 != 3)
                                                (void)::send(socket, bytes.data(), bytes.size(),
                                                             MSG_NOSIGNAL);
                                            }
                                            ::usleep(1200000);
                                            progress.enter(Activity::Finished);
                                            return 0;
                                          }};
  pid_t processes[] = {start(run[0], 0), start(run[1], 1)};
  for (int rank : {0, 1}) {
    EXPECT_EQ(end(processes[rank], rank), 0);
    EXPECT_EQ(said, "");
  }
}

TEST(Stacks, NameFunctions) {
  EXPECT_EQ(withNames("libc.so.6(abort+0x1) [0x7f]\n"), "libc.so.6: abort+0x1\n");
  EXPECT_EQ(withNames("/x/y(_ZN3dtc2rt6nameOfEi+0x1)[0x7f]\n"), "y: dtc::rt::nameOf(int)+0x1\n");
  for (const char *line :
       {"", "nothing", "(", ")", "a(+", "/none(+0x12)[0x1]", "/dev/null(+0x1)[1]"})
    EXPECT_EQ(withNames(std::string(line) + "\n"), std::string(line) + "\n");
}

} // namespace
} // namespace dtc::rt

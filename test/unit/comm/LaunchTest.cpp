// Tests how the ends of ranks are recognised, by reading mpirun's output and by really ending
// ranks.
#include "runtime/comm/Launch.h"
#include "runtime/comm/LauncherOutput.h"
#include "test/unit/data/TempFolder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace dtc::rt {
namespace {
const std::string rule = std::string(74, '-') + "\n";

TEST(LauncherOutput, TakesOutWhatMpirunSaysOfADeadRank) {
  LauncherOutput output;
  std::string text = "loss 3\n" + rule +
                     "Primary job  terminated normally, but 1 process returned\na non-zero exit "
                     "code. Per user-direction, the job has been aborted.\n" +
                     rule + rule +
                     "mpirun noticed that process rank 2 with PID 0 on node vm exited on signal 9 "
                     "(Killed).\n" +
                     rule + "last\n";
  EXPECT_EQ(output.feed(text) + output.finish(), "loss 3\nlast\n");
  ASSERT_TRUE(output.end().has_value());
  EXPECT_EQ(output.end()->rank, 2);
  EXPECT_EQ(output.end()->signal, 9);
  // Reads the same one byte at a time.
  LauncherOutput slow;
  std::string passed;
  for (char byte : text)
    passed += slow.feed({&byte, 1});
  EXPECT_EQ(passed + slow.finish(), "loss 3\nlast\n");
  EXPECT_EQ(slow.end()->rank, 2);
}

TEST(LauncherOutput, ReadsExitCodes) {
  LauncherOutput output;
  EXPECT_EQ(output.feed(rule +
                        "mpirun detected that one or more processes exited with non-zero status, "
                        "thus causing\nthe job to be terminated. The first process to do so was:\n"
                        "\n  Process name: [[8148,1],12]\n  Exit code:    4\n" +
                        rule),
            "");
  ASSERT_TRUE(output.end().has_value());
  EXPECT_EQ(output.end()->rank, 12);
  EXPECT_EQ(output.end()->exitCode, 4);
}

TEST(LauncherOutput, ReadsEarlyExits) {
  LauncherOutput output;
  EXPECT_EQ(output.feed(rule +
                        "mpirun has exited due to process rank 3 with PID 0 on\nnode vm exiting "
                        "improperly. There are three reasons this could occur:\n" +
                        rule),
            "");
  ASSERT_TRUE(output.end().has_value());
  EXPECT_EQ(output.end()->rank, 3);
  EXPECT_TRUE(output.end()->tooEarly);
}

TEST(LauncherOutput, TakesOutWhatDtrunAskedFor) {
  LauncherOutput output;
  EXPECT_EQ(output.feed("a\nmpirun: Forwarding signal 12 to job\nb\n"), "a\nb\n");
}

TEST(LauncherOutput, PassesOnAllElse) {
  LauncherOutput output;
  std::string text = rule + "There are not enough slots available in the system\n" + rule;
  EXPECT_EQ(output.feed(text), text);
  EXPECT_EQ(output.feed("--- a table ---\n"), "--- a table ---\n");
  EXPECT_EQ(output.feed("\rstep 3"), "\rstep 3"); // a progress line has no end
  EXPECT_EQ(output.feed("/10\n--"), "/10\n");
  EXPECT_EQ(output.finish(), "--");
  EXPECT_EQ(output.feed(rule + "cut off"), "");
  EXPECT_EQ(output.finish(), rule + "cut off");
  std::string drawing = rule + std::string(100, '#') + "\n";
  for (int i = 0; i < 200; ++i)
    drawing += std::string(100, '#') + "\n";
  EXPECT_EQ(output.feed(drawing) + output.finish(), drawing);
  EXPECT_FALSE(output.end().has_value());
}

TEST(LaunchLocalRanks, NamesAMissingMpirun) {
  ::setenv("DTC_MPIRUN", "no-such-mpirun", 1);
  LaunchResult result;
  Status status = launchLocalRanks(2, {"/bin/true"}, result);
  EXPECT_EQ(status.statusCode(), StatusCode::Unavailable);
  EXPECT_EQ(status.message(),
            "starting local ranks: no 'no-such-mpirun' on PATH; install openmpi-bin, or set "
            "DTC_MPIRUN, or run one rank (-n 1)");
  ::setenv("DTC_MPIRUN", "/dev/null", 1);
  EXPECT_EQ(launchLocalRanks(2, {"/bin/true"}, result).message(),
            "starting local ranks: DTC_MPIRUN is '/dev/null', which is no program");
  ::unsetenv("DTC_MPIRUN");
}

// Runs MpiRanks, returns its wait status and what it printed on both streams. After `killAfter`
// wrote a line, sends it `signal`.
struct RunResult {
  int status = 0;
  std::string output;
  double seconds = 0;
};
RunResult runRanks(std::vector<std::string> arguments, int signal = 0) {
#ifndef DTC_MPI_RANKS
  return {77 << 8, "no MPI when this was built", 0};
#else
  // mpirun gives ranks a second to die, twice. These ranks do not need it.
  ::setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 1);
  auto started = std::chrono::steady_clock::now();
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  arguments.insert(arguments.begin(), DTC_MPI_RANKS);
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(126);
  }
  ::close(ends[1]);
  RunResult run;
  char bytes[4096];
  for (ssize_t count; (count = ::read(ends[0], bytes, sizeof(bytes))) > 0;) {
    run.output.append(bytes, static_cast<size_t>(count));
    if (signal && run.output.find("asleep") != std::string::npos)
      ::kill(child, std::exchange(signal, 0));
  }
  ::close(ends[0]);
  ::waitpid(child, &run.status, 0);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return run;
#endif
}

#define SKIP_WITHOUT_MPI(run)                                                                      \
  if (WIFEXITED((run).status) && WEXITSTATUS((run).status) == 77)                                  \
  GTEST_SKIP() << (run).output

TEST(LaunchLocalRanks, NamesARankThatASignalKilled) {
  RunResult run = runRanks({"--ranks", "3", "--mode", "kill"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 3) << run.output;
  EXPECT_EQ(run.output, "launcher: rank 1 died (signal 9, Killed); the system kills so when memory "
                        "runs out\n");
  EXPECT_LT(run.seconds, 10);
}

TEST(LaunchLocalRanks, PassesExitCodesOn) {
  RunResult run = runRanks({"--ranks", "2", "--mode", "exit"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 4) << run.output;
  EXPECT_EQ(run.output, "launcher: rank 1 exited with code 4\n");
}

TEST(LaunchLocalRanks, NoticesARankThatLeavesEarly) {
  RunResult run = runRanks({"--ranks", "2", "--mode", "leave"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 3) << run.output;
  EXPECT_EQ(run.output, "launcher: rank 1 exited before the job's end\n");
}

// An mpirun that ends as Open MPI's does where it has missed that rank 0 left MPI in order.
class LateDaemon : public TempFolder {
protected:
  LateDaemon() {
    std::ofstream script(path("mpirun"));
    script << "#!/bin/sh\nmpirun \"$@\"\ncat >&2 <<'END'\n"
           << rule << "mpirun has exited due to process rank 0 with PID 0 on\n"
           << "node vm exiting improperly. There are three reasons this could occur:\n"
           << rule << "END\nexit 1\n";
    script.close();
    std::filesystem::permissions(path("mpirun"), std::filesystem::perms::owner_all);
    ::setenv("DTC_MPIRUN", path("mpirun").c_str(), 1);
  }
  ~LateDaemon() override { ::unsetenv("DTC_MPIRUN"); }
};

TEST_F(LateDaemon, IsNotBelievedIfAllRanksLeftInOrder) {
  RunResult run = runRanks({"--ranks", "2", "--mode", "well"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 0) << run.output;
  EXPECT_EQ(run.output, "");
}

TEST_F(LateDaemon, IsBelievedIfARankDidNot) {
  RunResult run = runRanks({"--ranks", "2", "--mode", "leave"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 3) << run.output;
  EXPECT_EQ(run.output, "launcher: rank 1 exited before the job's end\n");
}

TEST(MpiComm, GivesUpAfterTheTimeOut) {
  RunResult run = runRanks({"--ranks", "2", "--mode", "late"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 3) << run.output;
  EXPECT_EQ(run.output,
            "barrier on group 'world' (rank 0 of 2): not complete after 1 s; another rank died, "
            "hangs or is in another operation\nlauncher: rank 0 exited with code 3\n");
  EXPECT_LT(run.seconds, 20);
}

// Ranks may be late if they work on their own before the first step.
TEST(MpiComm, WaitsAsLongAsTheStartWantsIt) {
  RunResult run = runRanks({"--ranks", "2", "--mode", "worker"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 0) << run.output;
  EXPECT_EQ(run.output, "");
}

TEST(MpiComm, EndsTheJobWhenARankGivesUp) {
  RunResult run = runRanks({"--ranks", "2", "--mode", "abandon"});
  SKIP_WITHOUT_MPI(run);
  EXPECT_EQ(WEXITSTATUS(run.status), 1) << run.output;
  EXPECT_EQ(run.output, "barrier on group 'world' (rank 1 of 2): given up: its data is damaged\n"
                        "launcher: rank 1 exited with code 1\n");
  EXPECT_LT(run.seconds, 10);
}

TEST(LaunchLocalRanks, EndsTheRanksOnSignals) {
  for (int signal : {SIGINT, SIGTERM}) {
    RunResult run = runRanks({"--ranks", "2", "--mode", "sleep"}, signal);
    SKIP_WITHOUT_MPI(run);
    EXPECT_EQ(WEXITSTATUS(run.status), 128 + signal) << run.output;
    EXPECT_NE(run.output.find("launcher: stopped by signal"), std::string::npos) << run.output;
    EXPECT_LT(run.seconds, 10);
  }
}
} // namespace
} // namespace dtc::rt

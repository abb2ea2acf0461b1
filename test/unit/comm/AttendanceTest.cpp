// Who has started of all hosts, as ranks know it beside MPI.
#include "runtime/comm/Attendance.h"
#include "runtime/comm/MeetingSides.h"
#include "runtime/comm/MeetingWire.h"
#include "test/unit/comm/RanksAsThreads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>

namespace dtc::rt {
namespace {

class AttendanceTest : public testing::Test {
protected:
  // As of mpirun, with two ranks on each host.
  std::unique_ptr<Attendance> attend(int rank, int size, double seconds, int localSize = 2) {
    LaunchEnvironment launch;
    launch.launcher = Launcher::OpenMpi;
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

  std::string port = std::to_string(test::freePort());
  std::map<std::string, std::string> variables = {
      {"PMIX_NAMESPACE", test::ownJobName()},
      {"OMPI_MCA_orte_hnp_uri", "76.0;tcp://127.0.0.1:5"},
      {"DTC_RENDEZVOUS_PORT", port},
      // Of another job, in which no MPI is.
      {"MASTER_ADDR", "nowhere.invalid"},
      {"MASTER_PORT", "http"}};
};

TEST_F(AttendanceTest, KnowsThatAllHaveStarted) {
  auto first = attend(0, 4, 20), second = attend(1, 4, 20), third = attend(2, 4, 20);
  EXPECT_EQ(first->words(), "");
  double begin = now();
  auto fourth = attend(3, 4, 20);
  for (Attendance *each : {first.get(), second.get(), third.get(), fourth.get()})
    EXPECT_EQ(each->words(5).find("all 4 ranks of the job have started dtrun"), 0u);
  EXPECT_LT(now() - begin, 5); // as soon as it is known
}

TEST_F(AttendanceTest, TellsAllRanksWhoIsMissing) {
  auto first = attend(0, 4, 0.5), second = attend(2, 4, 20);
  std::string host = ownHostName();
  for (Attendance *each : {first.get(), second.get()})
    EXPECT_EQ(each->words(5), "ranks 1 and 3 of 4 have not come to port " + port + " of host '" +
                                  host + "'; here are rank 2 on host '" + host + "'");
}

TEST_F(AttendanceTest, SaysWhereRankZeroIsLookedFor) {
  auto second = attend(2, 4, 0.3);
  std::string words = second->words(5);
  EXPECT_TRUE(words.starts_with("no rank 0 of this job is at '127.0.0.1' (OMPI_MCA_orte_hnp_uri), "
                                "port " +
                                port + " ("))
      << words;
  EXPECT_TRUE(words.ends_with("): it has not started dtrun, or is elsewhere")) << words;
}

// Nothing is known, nothing is waited for, and no port is open.
TEST_F(AttendanceTest, DoesNothingWhereNothingTellsOrAllIsOver) {
  auto begin = std::chrono::steady_clock::now();
  int socket = -1, error = 0;
  {
    auto onOneHost = attend(0, 2, 20);
    EXPECT_TRUE(listenOn(static_cast<uint16_t>(std::stoi(port)), socket, error).ok());
    // The port is another's.
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

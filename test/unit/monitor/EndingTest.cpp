// Tests how the kernel's counts of exhausted memory are read, from folders that look like its own.
#include "runtime/monitor/Ending.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dtc::rt {
namespace {

class MemoryKills : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "dtc-kills-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string &name, const std::string &lines) const {
    std::filesystem::create_directories(std::filesystem::path(root + name).parent_path());
    std::ofstream(root + name) << lines;
  }
  uint64_t count() const { return countMemoryKills(root); }

  std::string root;
};

// A job that was asked to stop needs no record, nor does one whose input was wrong before it did
// anything.
TEST(Ending, IsWorthARecordWhereSomethingFailed) {
  auto ends = [](int exitCode, int signal, bool hasTrained, const char *words = "") {
    return isWorthRecord({exitCode, signal, false, false, words}, hasTrained);
  };
  for (int exitCode : {1, 4, 70})
    EXPECT_TRUE(ends(exitCode, 0, true)) << exitCode;
  EXPECT_TRUE(ends(70, 0, false));
  EXPECT_TRUE(ends(0, 9, false));
  EXPECT_TRUE(ends(0, 0, false)); // before the end of the job
  EXPECT_TRUE(ends(3, 0, false, "all-reduce: not complete"));
  EXPECT_FALSE(ends(1, 0, false));
  EXPECT_FALSE(ends(2, 0, false));
  EXPECT_FALSE(ends(143, 0, true));
}

TEST_F(MemoryKills, AreThoseOfTheGroup) {
  write("/proc/self/cgroup", "0::/job/rank\n");
  write("/sys/fs/cgroup/job/rank/memory.events", "low 0\nhigh 3\nmax 4\noom 2\noom_kill 5\n");
  write("/proc/vmstat", "oom_kill 99\n");
  EXPECT_EQ(count(), 5u);
}

TEST_F(MemoryKills, AreThoseOfTheMemoryGroupOfOldSystems) {
  write("/proc/self/cgroup", "9:cpu,cpuacct:/\n4:memory:/job\n0::/job\n");
  write("/sys/fs/cgroup/memory/job/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  write("/proc/vmstat", "oom_kill 99\n");
  EXPECT_EQ(count(), 3u);
}

TEST_F(MemoryKills, AreThoseOfTheMachineWhereNoGroupIsKnown) {
  EXPECT_EQ(count(), 0u);
  write("/proc/self/cgroup", "0::/not/there\n");
  write("/proc/vmstat", "nr_free_pages 7\noom_kill 99\noom_killer 1\n");
  EXPECT_EQ(count(), 99u);
}

TEST(Endings, SayWhoKilled) {
  EXPECT_EQ(describe({0, SIGKILL, true, false, ""}),
            "died (signal 9, Killed); memory ran out: the kernel's out-of-memory killer chose it");
  EXPECT_EQ(describe({0, SIGKILL, false, false, ""}),
            "died (signal 9, Killed); somebody sent it, as the kernel's out-of-memory killer has "
            "noted nothing");
  EXPECT_EQ(describe({0, SIGSEGV, false, false, ""}), "died (signal 11, Segmentation fault)");
}

} // namespace
} // namespace dtc::rt

// Tests that the bytes a rank reads and writes show its progress.
#include "runtime/monitor/BytesMoved.h"
#include "runtime/comm/StartUp.h"
#include "runtime/monitor/Standing.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace dtc::rt {
namespace {

void readZeros(size_t bytes) {
  int file = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  std::vector<char> values(bytes);
  EXPECT_EQ(::pread(file, values.data(), values.size(), 0), static_cast<ssize_t>(bytes));
  ::close(file);
}

TEST(BytesMoved, CountsWhatTheFirstThreadReads) {
  uint64_t before = bytesMovedBy(::getpid());
  if (before == 0)
    GTEST_SKIP() << "this system does not tell";
  constexpr size_t kLarge = 10 << 20;
  readZeros(kLarge);
  uint64_t after = bytesMovedBy(::getpid());
  EXPECT_GE(after, before + kLarge);
  std::thread(readZeros, kLarge).join();
  EXPECT_LT(bytesMovedBy(::getpid()), after + kLarge);
}

TEST(BytesMoved, AreNoneOfAProcessThatIsNotThere) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(bytesMovedBy(child), 0u);
}

TEST(Progress, SaysAtWhichPhaseOfTheStartARankIs) {
  auto page = std::make_unique<ProgressPage>();
  Progress progress(*page, -1);
  EXPECT_EQ(standingOf(*page, {}, 0).position, "starting");
  uint64_t before = standingOf(*page, {}, 0).moves;
  progress.enterPhase(static_cast<uint32_t>(Phase::ReadingCheckpoint));
  EXPECT_EQ(standingOf(*page, {}, 0).position, "the start (reading a checkpoint)");
  EXPECT_NE(standingOf(*page, {}, 0).moves, before);
  page->phase = 4711; // a value that a faulty rank has written
  EXPECT_EQ(standingOf(*page, {}, 0).position, "the start (starting)");
  progress.enter(Activity::Working);
  EXPECT_EQ(standingOf(*page, {}, 0).position, "reading or writing files");
}

} // namespace
} // namespace dtc::rt

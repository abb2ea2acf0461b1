#include "runtime/comm/PeerMemory.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

std::vector<int> values(1 << 20); // 4 MiB, on both sides of fork at one address

// A child process that fills `values` with a number, prints its card and sleeps.
class Child {
public:
  explicit Child(int value) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    process = ::fork();
    if (process == 0) {
      std::fill(values.begin(), values.end(), value);
      PeerCard mine = makePeerCard();
      (void)!::write(ends[1], &mine, sizeof(mine));
      ::pause();
      std::_Exit(0);
    }
    EXPECT_EQ(::read(ends[0], &card, sizeof(card)), static_cast<ssize_t>(sizeof(card)));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Child() { end(); }
  void end() {
    if (process <= 0)
      return;
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    process = 0;
  }

  pid_t process = 0;
  PeerCard card;
};

class PeerMemoryTest : public testing::Test {
protected:
  void SetUp() override {
    if (!memory.open({child.card}))
      GTEST_SKIP() << "this machine lets no process read another's memory";
  }

  Child child{7};
  PeerMemory memory;
};

TEST_F(PeerMemoryTest, ReadsAllOfABuffer) {
  std::vector<int> read(values.size());
  ASSERT_TRUE(memory.read(0, values.data(), read.data(), read.size() * sizeof(int)).ok());
  EXPECT_EQ(read, std::vector<int>(values.size(), 7));
  EXPECT_EQ(values[0], 0) << "this process's own copy";
}

TEST_F(PeerMemoryTest, RefusesAProcessThatWroteAnotherNumber) {
  PeerCard other = child.card;
  other.number ^= 1;
  EXPECT_FALSE(memory.open({child.card, other}));
}

TEST_F(PeerMemoryTest, RefusesAProcessThatIsNotThere) {
  PeerCard gone = child.card;
  child.end();
  EXPECT_FALSE(memory.open({gone}));
}

TEST_F(PeerMemoryTest, TellsThatAProcessEnded) {
  child.end();
  int read = 0;
  Status status = memory.read(0, values.data(), &read, sizeof(read));
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_EQ(status.message(), "reading the memory of rank 0 (process " +
                                  std::to_string(child.card.process) + "): No such process");
}

TEST_F(PeerMemoryTest, TellsThatNothingIsThere) {
  int read = 0;
  Status status = memory.read(0, nullptr, &read, sizeof(read));
  EXPECT_EQ(status.message(), "reading the memory of rank 0 (process " +
                                  std::to_string(child.card.process) + "): Bad address");
}

} // namespace
} // namespace dtc::rt

// Tests that files are written completely or not at all.
#include "compiler/support/File.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dtc;
namespace fs = std::filesystem;

namespace {
// Each case has a folder of its own, which is removed afterwards.
class FileTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "dtc-file-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string in(const char *name) { return (folder / name).string(); }
  int64_t numFiles() {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  fs::path folder;
};
} // namespace

TEST_F(FileTest, WritesAndReadsBack) {
  std::string contents("line\n\0more", 10);
  ASSERT_TRUE(writeFileAtomically(in("a"), contents).ok());
  EXPECT_EQ(*readFile(in("a")), contents);
  ASSERT_TRUE(writeFileAtomically(in("a"), "").ok());
  EXPECT_EQ(*readFile(in("a")), "");
  EXPECT_EQ(numFiles(), 1);
}

TEST_F(FileTest, KeepsPermissionsAndLinks) {
  ASSERT_TRUE(writeFileAtomically(in("a"), "old").ok());
  ::chmod(in("a").c_str(), 0640);
  fs::create_symlink("a", in("link"));
  ASSERT_TRUE(writeFileAtomically(in("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(*readFile(in("a")), "new");
  EXPECT_EQ(static_cast<int>(fs::status(in("a")).permissions()), 0640);
}

TEST_F(FileTest, LeavesNothingBehindWhenItFails) {
  fs::create_directory(in("dir"));
  EXPECT_EQ(writeFileAtomically(in("dir"), "x").error().message,
            "writing '" + in("dir") + "': it is a directory");
  EXPECT_EQ(writeFileAtomically(in("absent/a"), "x").error().message,
            "writing '" + in("absent/a") + "': there is no folder '" + in("absent") + "'");
  EXPECT_EQ(numFiles(), 1);
}

TEST_F(FileTest, WritesToADeviceInPlace) {
  ASSERT_TRUE(writeFileAtomically("/dev/null", "x").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, WritesIntoAPipeThatSomebodyReads) {
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  UserError refused = writeFileAtomically(in("pipe"), "x").error();
  EXPECT_EQ(refused.message, "writing '" + in("pipe") + "': nobody reads this pipe");
  EXPECT_EQ(refused.note, "start its reader first, or name a file");
  // A pipe holds less than this, so the writer must wait for the reader.
  const std::string contents(1 << 20, 'x');
  int reader = ::open(in("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::close(reader);
    std::_Exit(writeFileAtomically(in("pipe"), contents).ok() ? 0 : 1);
  }
  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);
  std::string got;
  char bytes[4096];
  while (got.size() < contents.size()) {
    ssize_t count = ::read(reader, bytes, sizeof(bytes));
    if (count > 0)
      got.append(bytes, static_cast<size_t>(count));
    else
      ::usleep(1000); // the writer has not opened the pipe yet
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(got, contents);
  ::close(reader);
  EXPECT_EQ(numFiles(), 1);
}

TEST_F(FileTest, SaysWhatCannotBeRead) {
  EXPECT_EQ(readFile(in("absent")).error().message,
            "reading '" + in("absent") + "': No such file or directory");
  EXPECT_EQ(readFile(folder.string()).error().message,
            "reading '" + folder.string() + "': it is a directory, wanted a regular file");
  std::ofstream(in("big")) << "12345";
  EXPECT_EQ(readFile(in("big"), 4).error().message,
            "reading '" + in("big") + "': it is larger than the limit of 4 bytes");
}

// The signal arrives when the temporary file exists, long before so many bytes are written.
TEST_F(FileTest, LeavesNothingBehindWhenASignalEndsIt) {
  const std::string contents(256 << 20, 'x');
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      std::_Exit(writeFileAtomically(in("a"), contents).ok() ? 0 : 1);
    while (numFiles() == 0 && ::waitpid(child, nullptr, WNOHANG) == 0)
      ::usleep(100);
    ::kill(child, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << "status " << status;
    EXPECT_EQ(numFiles(), 0) << "signal " << signal;
  }
}

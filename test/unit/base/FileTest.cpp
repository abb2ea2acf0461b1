// Tests input files and atomic files.
#include "runtime/base/File.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace dtc::rt {
namespace {
class FileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "dtc-file-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf '" + folder + "'").c_str()), 0); }
  std::string path(const std::string &name) const { return folder + "/" + name; }
  std::string contents(const std::string &name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t entries() const {
    size_t count = 0;
    DIR *opened = ::opendir(folder.c_str());
    while (const dirent *entry = ::readdir(opened))
      count += entry->d_name[0] != '.';
    ::closedir(opened);
    return count;
  }
  std::string folder;
};

std::string textOf(const InputFile &file, uint64_t offset, size_t count) {
  std::vector<uint8_t> bytes(count);
  Status status = file.read(offset, bytes);
  return status.ok() ? std::string(bytes.begin(), bytes.end()) : status.message();
}

TEST_F(FileTest, ReadsWhatAFileHolds) {
  std::ofstream(path("x")) << "hello";
  InputFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
  EXPECT_EQ(file.size(), 5u);
  EXPECT_EQ(textOf(file, 1, 3), "ell");
  EXPECT_EQ(textOf(file, 5, 0), "");
  InputFile moved = std::move(file);
  std::vector<uint8_t> all;
  ASSERT_TRUE(moved.readAll(all).ok());
  EXPECT_EQ(std::string(all.begin(), all.end()), "hello");
  EXPECT_EQ(moved.path(), path("x"));
  std::ofstream(path("empty"));
  ASSERT_TRUE(moved.open(path("empty")).ok());
  EXPECT_EQ(moved.size(), 0u);
  ASSERT_TRUE(moved.readAll(all).ok());
  EXPECT_TRUE(all.empty());
}

TEST_F(FileTest, SaysThatAFileWasCutWhileItWasInUse) {
  std::ofstream(path("x")) << "hello";
  InputFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
  ASSERT_EQ(::truncate(path("x").c_str(), 2), 0);
  std::vector<uint8_t> bytes(3), rest(2);
  EXPECT_EQ(file.read(0, rest).statusCode(), StatusCode::DataLoss);
  Status status = file.read(1, bytes);
  EXPECT_EQ(status.statusCode(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(),
            "reading '" + path("x") + "': bytes 2 to 3 are not there; it had 5 when it was opened");
}

TEST_F(FileTest, SaysThatAFileWasWrittenToWhileItWasInUse) {
  std::string at = path("x");
  std::ofstream(at) << "abcdef";
  InputFile file;
  ASSERT_TRUE(file.open(at).ok());
  std::vector<uint8_t> bytes(3);
  ASSERT_TRUE(file.read(3, bytes).ok());
  // The time differs, whatever the resolution of the file system's clock.
  std::filesystem::last_write_time(at, std::filesystem::last_write_time(at) +
                                           std::chrono::nanoseconds(1));
  Status status = file.read(3, bytes);
  EXPECT_EQ(status.statusCode(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(), "reading '" + at +
                                  "': it was written to after it was opened; run on a "
                                  "file that stays as it is");
}

TEST_F(FileTest, NamesWhatCannotBeRead) {
  InputFile file;
  Status status = file.open(path("none"));
  EXPECT_EQ(status.statusCode(), StatusCode::NotFound);
  EXPECT_EQ(status.message(), "opening '" + path("none") + "': No such file or directory");
  EXPECT_EQ(file.open(folder).message(),
            "opening '" + folder + "': it is a directory; wanted a regular file");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(file.open(path("pipe")).message(),
            "opening '" + path("pipe") + "': it is no file; wanted a regular file");
}

// Runs each case with an unnamed file, and with a temporary name for file systems without unnamed
// files.
class AtomicFileTest : public FileTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Named, AtomicFileTest, testing::Bool());

TEST_P(AtomicFileTest, AppearsOnCommitOnly) {
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x"), GetParam()).ok());
  ASSERT_TRUE(file.write("abc", 3).ok());
  EXPECT_NE(::access(path("x").c_str(), F_OK), 0);
  EXPECT_EQ(entries(), GetParam() ? 1u : 0u);
  ASSERT_TRUE(file.write("def", 3).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents("x"), "abcdef");
  EXPECT_EQ(entries(), 1u);
  EXPECT_FALSE(file.write("g", 1).ok());
  EXPECT_FALSE(file.commit().ok());
}

TEST_P(AtomicFileTest, LeavesTheOldFileWithoutCommit) {
  std::ofstream(path("x")) << "old";
  {
    AtomicFile file;
    ASSERT_TRUE(file.open(path("x"), GetParam()).ok());
    ASSERT_TRUE(file.write("new", 3).ok());
  }
  EXPECT_EQ(contents("x"), "old");
  EXPECT_EQ(entries(), 1u);
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x"), GetParam()).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents("x"), "");
}

TEST_P(AtomicFileTest, LeavesNothingBehindWhenASignalEndsIt) {
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      AtomicFile done, file, other;
      bool ok = done.open(path("done"), GetParam()).ok() && done.commit().ok() &&
                file.open(path("x"), GetParam()).ok() && other.open(path("y"), GetParam()).ok() &&
                file.write("new", 3).ok();
      (void)::raise(ok ? signal : SIGKILL);
      std::_Exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << "status " << status;
    EXPECT_EQ(entries(), 1u) << "what was committed stays";
  }
}

TEST_P(AtomicFileTest, WritesThroughALink) {
  std::ofstream(path("real")) << "old";
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  AtomicFile file;
  ASSERT_TRUE(file.open(path("link"), GetParam()).ok());
  ASSERT_TRUE(file.write("new", 3).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents("real"), "new");
  struct stat info;
  ASSERT_EQ(::lstat(path("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

TEST_P(AtomicFileTest, RefusesToReplaceADevice) {
  AtomicFile file;
  EXPECT_EQ(file.open("/dev/null", GetParam()).message(),
            "writing '/dev/null': it exists and is not a regular file");
  EXPECT_EQ(file.open(path("no/such/folder"), GetParam()).statusCode(), StatusCode::NotFound);
}

// Names that others have taken, and links that they have placed there, are not touched.
TEST_P(AtomicFileTest, DoesNotFollowALinkInPlaceOfItsTemporaryFile) {
  std::ofstream(path("victim")) << "old";
  std::string temporary = path("x.tmp-") + std::to_string(::getpid()) + "-0";
  ASSERT_EQ(::symlink("victim", temporary.c_str()), 0);
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x"), GetParam()).ok());
  ASSERT_TRUE(file.write("new", 3).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents("victim"), "old");
  EXPECT_EQ(contents("x"), "new");
}

TEST_P(AtomicFileTest, TakesItsSpaceBeforehand) {
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x"), GetParam()).ok());
  Status status = file.reserve(uint64_t(1) << 60);
  EXPECT_EQ(status.statusCode(), StatusCode::ResourceExhausted) << status.message();
  ASSERT_TRUE(file.reserve(10000).ok());
  ASSERT_TRUE(file.write("new", 3).ok());
  ASSERT_TRUE(file.commit().ok());
  struct stat info;
  ASSERT_EQ(::stat(path("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 3);
  EXPECT_LE(info.st_blocks * 512, 4096) << "what was not needed is given back";
}

TEST_P(AtomicFileTest, KnowsWhatItWillReplace) {
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  std::ofstream(path("real")) << "old";
  AtomicFile file, other;
  ASSERT_TRUE(file.open(path("link"), GetParam()).ok());
  ASSERT_TRUE(
      other.open(folder + "/../" + folder.substr(folder.rfind('/') + 1) + "/new", GetParam()).ok());
  EXPECT_TRUE(file.target().ends_with("/real")) << file.target();
  EXPECT_TRUE(other.target().ends_with("/new"));
  EXPECT_EQ(other.target().find(".."), std::string::npos) << other.target();
}

TEST_P(AtomicFileTest, TellsThatThereIsNoRoom) {
  // A limit on file sizes simulates a full disk.
  struct rlimit before, small;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 1000;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x"), GetParam()).ok());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<char> bytes(5000);
  Status status = file.write(bytes.data(), bytes.size());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.statusCode(), StatusCode::ResourceExhausted);
  EXPECT_NE(status.message().find("File too large"), std::string::npos) << status.message();
}
} // namespace
} // namespace dtc::rt

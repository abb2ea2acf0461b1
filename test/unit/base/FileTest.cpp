// Mapped and atomic files.
#include "runtime/base/File.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
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

TEST_F(FileTest, MapsWhatAFileHolds) {
  std::ofstream(path("x")) << "hello";
  MappedFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
  EXPECT_EQ(std::string(file.bytes().begin(), file.bytes().end()), "hello");
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes().size(), 5u);
  std::ofstream(path("empty"));
  ASSERT_TRUE(moved.open(path("empty")).ok());
  EXPECT_TRUE(moved.bytes().empty());
}

TEST_F(FileTest, NamesWhatCannotBeMapped) {
  MappedFile file;
  Status status = file.open(path("none"));
  EXPECT_EQ(status.statusCode(), StatusCode::NotFound);
  EXPECT_EQ(status.message(), "opening '" + path("none") + "': No such file or directory");
  EXPECT_EQ(file.open(folder).message(),
            "opening '" + folder + "': it is a directory; wanted a regular file");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(file.open(path("pipe")).message(),
            "opening '" + path("pipe") + "': it is no file; wanted a regular file");
}

TEST_F(FileTest, AppearsOnCommitOnly) {
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
  ASSERT_TRUE(file.write("abc", 3).ok());
  EXPECT_NE(::access(path("x").c_str(), F_OK), 0);
  ASSERT_TRUE(file.write("def", 3).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents("x"), "abcdef");
  EXPECT_EQ(entries(), 1u);
  EXPECT_FALSE(file.write("g", 1).ok());
  EXPECT_FALSE(file.commit().ok());
}

TEST_F(FileTest, LeavesTheOldFileWithoutCommit) {
  std::ofstream(path("x")) << "old";
  {
    AtomicFile file;
    ASSERT_TRUE(file.open(path("x")).ok());
    ASSERT_TRUE(file.write("new", 3).ok());
  }
  EXPECT_EQ(contents("x"), "old");
  EXPECT_EQ(entries(), 1u);
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents("x"), "");
}

TEST_F(FileTest, WritesThroughALink) {
  std::ofstream(path("real")) << "old";
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  AtomicFile file;
  ASSERT_TRUE(file.open(path("link")).ok());
  ASSERT_TRUE(file.write("new", 3).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents("real"), "new");
  struct stat info;
  ASSERT_EQ(::lstat(path("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

TEST_F(FileTest, RefusesToReplaceADevice) {
  AtomicFile file;
  EXPECT_EQ(file.open("/dev/null").message(),
            "writing '/dev/null': it exists and is not a regular file");
  EXPECT_EQ(file.open(path("no/such/folder")).statusCode(), StatusCode::NotFound);
}

TEST_F(FileTest, DoesNotFollowALinkInPlaceOfItsTemporaryFile) {
  std::ofstream(path("victim")) << "old";
  std::string temporary = path("x.tmp-") + std::to_string(::getpid());
  ASSERT_EQ(::symlink("victim", temporary.c_str()), 0);
  AtomicFile file;
  EXPECT_FALSE(file.open(path("x")).ok());
  EXPECT_EQ(contents("victim"), "old");
}

TEST_F(FileTest, TellsThatThereIsNoRoom) {
  // A limit on the size of files stands for a full disk.
  struct rlimit before, small;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 1000;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  AtomicFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
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

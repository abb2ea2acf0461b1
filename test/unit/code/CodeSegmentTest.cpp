// Loads code, and checks that bad code is refused before any of it runs.
#include "runtime/code/CodeSegment.h"

#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

TEST(CodeSegment, RunsWhatItLoads) {
  CodeSegment code;
  Status status = code.load(test::readBytes(DTC_SAMPLE_KERNELS));
  ASSERT_TRUE(status.ok()) << status.message();
  using Function = void (*)(char *const *, const int64_t *, int64_t, int64_t);
  auto decay = reinterpret_cast<Function>(code.find("decay"));
  ASSERT_NE(decay, nullptr);
  float weights[] = {1, 2}, rate = 0.5f;
  char *buffers[] = {reinterpret_cast<char *>(weights), reinterpret_cast<char *>(&rate)};
  decay(buffers, nullptr, 0, 2);
  EXPECT_EQ(weights[1], 1);
  EXPECT_EQ(code.find("none"), nullptr);
}

// Otherwise another process of this user could change the code between check and call.
TEST(CodeSegment, CanBeChangedByNobody) {
  CodeSegment code;
  ASSERT_TRUE(code.load(test::readBytes(DTC_SAMPLE_KERNELS)).ok());
  int found = 0;
  DIR *folder = ::opendir("/proc/self/fd");
  ASSERT_NE(folder, nullptr);
  while (const dirent *entry = ::readdir(folder)) {
    std::string path = std::string("/proc/self/fd/") + entry->d_name;
    char target[256] = {};
    if (::readlink(path.c_str(), target, sizeof(target) - 1) < 0 ||
        std::string(target).find("dtc-code") == std::string::npos)
      continue;
    ++found;
    int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file >= 0) {
      EXPECT_LT(::write(file, "x", 1), 0);
      EXPECT_NE(::ftruncate(file, 0), 0);
      EXPECT_EQ(::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
      ::close(file);
    }
  }
  ::closedir(folder);
  EXPECT_EQ(found, 1);
}

TEST(CodeSegment, RefusesWhatWouldRunOrLink) {
  const struct {
    const char *reason, *message;
  } cases[] = {{"constructor", "it has a constructor (DT_INIT_ARRAY), and would run when it is"},
               {"destructor", "it has a destructor (DT_FINI_ARRAY), and would run when it is"},
               {"import", "it calls 'system', and may call functions of libm and memory alone"},
               {"ifunc", "IFUNC, which would run when it is loaded"},
               {"thread", "it has thread-local variables"},
               {"stack", "it asks for a stack that may be run"},
               {"library", "it links the library 'lib"}};
  for (const auto &each : cases) {
    CodeSegment code;
    Status status = code.load(test::readBytes(std::string(DTC_REFUSED) + each.reason + ".so"));
    EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument) << each.reason;
    EXPECT_NE(status.message().find(each.message), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("; dtc writes no such code: do not run this file"),
              std::string::npos)
        << status.message();
    EXPECT_EQ(code.find("work"), nullptr);
  }
}

} // namespace
} // namespace dtc::rt

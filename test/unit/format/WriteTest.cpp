#include "runtime/format/Write.h"

#include "runtime/format/Header.h"
#include "runtime/format/Verify.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace dtc::format {
namespace {

std::string scratchFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "dtc-write-XXXXXX";
  return ::mkdtemp(pattern.data());
}

TEST(Write, ResultPassesTheVerifier) {
  test::ProgramBuilder builder = test::sampleProgram(4, {1, 2, 3});
  std::vector<uint8_t> unchecked = builder.file(), file;
  rt::Status status = writeExecutable(builder.manifest, builder.segments, file);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(file, unchecked);
  const Manifest *manifest = nullptr;
  ASSERT_TRUE(verifyExecutable(file, "f", manifest).ok());
  EXPECT_EQ(manifest->model_name()->str(), "sample");
  EXPECT_EQ(manifest->segments()->Get(0)->offset() % segmentAlignment, 0u);
}

TEST(Write, SameInputGivesSameBytes) {
  test::ProgramBuilder one = test::sampleProgram(2, {9}), two = test::sampleProgram(2, {9});
  EXPECT_EQ(one.file(), two.file());
}

TEST(Write, PlacesSegmentsOnPagesInOrder) {
  test::ProgramBuilder builder = test::sampleProgram(1, std::vector<uint8_t>(5000, 7));
  builder.segments.push_back({SegmentKind::constants, {}});
  builder.segments.push_back({SegmentKind::constants, {4, 5}});
  std::vector<uint8_t> file = builder.file();
  const Manifest *manifest = nullptr;
  rt::Status status = verifyExecutable(file, "f", manifest);
  ASSERT_TRUE(status.ok()) << status.message();
  uint64_t first = manifest->segments()->Get(0)->offset();
  EXPECT_EQ(manifest->segments()->Get(1)->offset(), first + 8192);
  EXPECT_EQ(manifest->segments()->Get(2)->offset(), first + 8192);
  EXPECT_EQ(file.size(), first + 8192 + 2);
  EXPECT_EQ(file[first + 4999], 7);
  EXPECT_EQ(file[first + 5000], 0);
}

TEST(Write, ReturnsTheVerifiersErrorForAManifestThatIsWrong) {
  test::ProgramBuilder builder = test::sampleProgram(1, {1});
  builder.file();
  builder.manifest.programs[0]->buffers[0]->bytes = 4;
  std::vector<uint8_t> file;
  rt::Status status = writeExecutable(builder.manifest, builder.segments, file);
  EXPECT_NE(status.message().find("'embed.weight' needs 512 bytes"), std::string::npos)
      << status.message();
}

TEST(Write, FileAppearsWhole) {
  std::string folder = scratchFolder();
  std::vector<uint8_t> bytes(100000, 3);
  ASSERT_TRUE(writeFileAtomically(folder + "/x.dte", bytes).ok());
  EXPECT_EQ(test::readBytes(folder + "/x.dte"), bytes);
  bytes.assign(10, 4);
  ASSERT_TRUE(writeFileAtomically(folder + "/x.dte", bytes).ok());
  EXPECT_EQ(test::readBytes(folder + "/x.dte"), bytes);
  auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1) << "a temporary file is left";
  std::filesystem::remove_all(folder);
}

TEST(Write, SaysWhyAFileCannotBeWritten) {
  std::string folder = scratchFolder();
  rt::Status status = writeFileAtomically(folder + "/none/x.dte", std::vector<uint8_t>{1});
  EXPECT_NE(status.message().find("/none/x.dte"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("No such file"), std::string::npos) << status.message();
  std::filesystem::create_directory(folder + "/taken");
  status = writeFileAtomically(folder + "/taken", std::vector<uint8_t>{1});
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder),
                          std::filesystem::directory_iterator()),
            1);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace dtc::format

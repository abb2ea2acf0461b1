#include "runtime/format/Write.h"

#include "runtime/format/Header.h"
#include "runtime/format/Verify.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

namespace dtc::format {
namespace {

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

} // namespace
} // namespace dtc::format

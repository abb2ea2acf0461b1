#include "runtime/format/Header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace dtc::format {
namespace {

std::vector<uint8_t> headerOf(uint64_t fileBytes, uint64_t manifestBytes) {
  std::vector<uint8_t> file(fileBytes);
  Header header;
  header.fileBytes = fileBytes;
  header.manifestBytes = manifestBytes;
  header.manifestHash = {1, 2};
  writeHeader(header, std::span<uint8_t, headerBytes>(file.data(), headerBytes));
  return file;
}

TEST(Header, ReadsWhatItWrote) {
  Header header;
  ASSERT_TRUE(readHeader(headerOf(100, 36), "f", header).ok());
  EXPECT_EQ(header.fileBytes, 100u);
  EXPECT_EQ(header.manifestOffset, 64u);
  EXPECT_EQ(header.manifestBytes, 36u);
  EXPECT_EQ(header.manifestHash, (Hash128{1, 2}));
}

TEST(Header, StartsWithTheMagicAndTheVersion) {
  std::vector<uint8_t> file = headerOf(64, 0);
  EXPECT_EQ(std::memcmp(file.data(), "DTEX\r\n\x1a\n\x07\0\0\0\0\0\0\0", 16), 0);
}

TEST(Header, RejectsAFileThatIsCutShort) {
  Header header;
  std::vector<uint8_t> file = headerOf(100, 36);
  for (size_t bytes : {size_t(0), size_t(63), size_t(64), size_t(99)}) {
    rt::Status status = readHeader(std::span(file).first(bytes), "f", header);
    EXPECT_EQ(status.statusCode(), rt::StatusCode::DataLoss) << bytes;
  }
}

TEST(Header, RejectsAnyByteThatChanged) {
  Header header;
  std::vector<uint8_t> file = headerOf(100, 36);
  for (size_t i = 0; i < headerBytes; ++i) {
    std::vector<uint8_t> changed = file;
    changed[i] ^= 0x40;
    EXPECT_FALSE(readHeader(changed, "f", header).ok()) << i;
  }
}

TEST(Header, NamesTheVersionItReads) {
  Header header;
  std::vector<uint8_t> file = headerOf(64, 0);
  file[8] = 9;
  rt::Status status = readHeader(file, "model.dte", header);
  EXPECT_EQ(status.message(), "model.dte: format version is 9, this program reads version 7; "
                              "recompile with the dtc of this release");
}

TEST(Header, RejectsAManifestLargerThanTheFile) {
  Header header;
  EXPECT_FALSE(readHeader(headerOf(100, 37), "f", header).ok());
  EXPECT_FALSE(readHeader(headerOf(100, ~uint64_t(0)), "f", header).ok());
}

} // namespace
} // namespace dtc::format

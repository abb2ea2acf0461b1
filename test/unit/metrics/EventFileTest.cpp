#include "runtime/metrics/EventFile.h"

#include <gtest/gtest.h>

#include <bit>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>

namespace dtc::rt {
namespace {

std::string hex(const std::string &bytes) {
  std::string out;
  for (char byte : bytes) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned char>(byte));
    out += two;
  }
  return out;
}

// The check values are those of RFC 3720, B.4, and of TensorBoard's own first record.
TEST(EventRecord, IsWhatTensorBoardReads) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(hex(versionRecord(0)),
            "1800000000000000a37f4b220900000000000000001a0d627261696e2e4576656e743a32eedf28a3");
}

// The bytes are protoc's encoding of wall_time: 1.5 step: 300 summary { value { tag: "a"
// simple_value: 2 } value { tag: "bc" simple_value: -0.5 } }.
TEST(EventRecord, HasScalarsOfAStep) {
  std::string record = scalarsRecord(1.5, 300, {{"a", 2.0f}, {"bc", -0.5f}});
  std::string event = record.substr(12, record.size() - 16);
  EXPECT_EQ(hex(event), "09000000000000f83f10ac022a150a080a01611500000040"
                        "0a090a026263150000"
                        "00bf");
  EXPECT_EQ(hex(record.substr(0, 8)), "2300000000000000");
}

class Folder {
public:
  Folder() {
    char name[] = "/tmp/dtc-events-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      names.push_back(entry.path().filename().string());
    return names;
  }
  std::string path;
};

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Splits records by their lengths, and checks both sums of each.
std::vector<std::string> eventsOf(const std::string &bytes) {
  auto masked = [](std::string_view of) { return std::rotr(crc32c(of), 15) + 0xa282ead8u; };
  auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = word(at);
    EXPECT_EQ(word(at + 8), masked(std::string_view(bytes).substr(at, 8)));
    events.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(word(at + 12 + size), masked(events.back()));
    at += 16 + size;
  }
  return events;
}

TEST(EventFile, IsThereWithItsFirstEvent) {
  Folder folder;
  EventFile file;
  ASSERT_TRUE(file.open(folder.path).ok());
  EXPECT_TRUE(folder.files().empty());
  ASSERT_TRUE(file.write(1, {}).ok());
  EXPECT_TRUE(folder.files().empty());
  ASSERT_TRUE(file.write(1, {{"train/loss", 4.5f}}).ok());
  ASSERT_TRUE(file.write(2, {{"train/loss", 4.25f}}).ok());
  ASSERT_EQ(folder.files().size(), 1u);
  EXPECT_EQ(folder.files()[0].rfind("events.out.tfevents.", 0), 0u);
  std::vector<std::string> events = eventsOf(contents(file.name()));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_NE(events[0].find("brain.Event:2"), std::string::npos);
  EXPECT_NE(events[2].find("train/loss"), std::string::npos);
}

TEST(EventFile, WritesNothingUnlessItIsOpen) {
  EventFile file;
  EXPECT_TRUE(file.write(1, {{"train/loss", 4.5f}}).ok());
}

TEST(EventFile, SaysWhereItCannotWrite) {
  Folder folder;
  EventFile file;
  Status status = file.open(folder.path + "/none");
  EXPECT_EQ(status.message(), "writing events for TensorBoard to '" + folder.path +
                                  "/none': No such file or directory");
}

// The disk is full: a reader could not read past half a record, and would lose what follows.
TEST(EventFile, StopsWhereTheDiskIsFull) {
  Folder folder;
  EventFile file;
  ASSERT_TRUE(file.open(folder.path).ok());
  ASSERT_TRUE(file.write(1, {{"train/loss", 4.5f}}).ok());
  auto size = std::filesystem::file_size(file.name());
  struct rlimit before {
  }, small{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = size + 10;
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = file.write(2, {{"train/loss", 4.25f}});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(status.message().find("for TensorBoard: File too large"), std::string::npos)
      << status.message();
  EXPECT_TRUE(file.write(3, {{"train/loss", 4}}).ok());
  EXPECT_EQ(std::filesystem::file_size(file.name()), size + 10);
}

} // namespace
} // namespace dtc::rt

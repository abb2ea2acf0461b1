// Tests safetensors files: the bytes of a good one, and all mistakes that one can have.
#include "runtime/checkpoint/SafetensorsRead.h"
#include "runtime/checkpoint/SafetensorsWrite.h"
#include "test/unit/data/TempFolder.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace dtc::rt {
namespace {
class SafetensorsTest : public TempFolder {
protected:
  // Returns header length, header and `data`.
  static std::string fileOf(const std::string &header, const std::string &data = "") {
    return bytesOfValues<uint64_t>({static_cast<int64_t>(header.size())}) + header + data;
  }
  // Returns the message of opening `bytes`, without the part that names the file.
  std::string message(const std::string &bytes) {
    writeFile("x", bytes);
    SafetensorsFile file;
    std::string text = file.open(path("x")).message();
    std::string prefix = "reading '" + path("x") + "': ";
    EXPECT_EQ(text.substr(0, prefix.size()), prefix);
    return text.size() < prefix.size() ? text : text.substr(prefix.size());
  }
};

TEST_F(SafetensorsTest, WritesKnownBytes) {
  SafetensorsWriter writer;
  ASSERT_TRUE(writer.open(path("x"), {{"b", {2}}, {"a", {1, 1}}}, {{"format", "pt"}}).ok());
  const float b[] = {1, -2}, a[] = {0.5f};
  ASSERT_TRUE(writer.write(b).ok());
  ASSERT_TRUE(writer.write(a).ok());
  ASSERT_TRUE(writer.finish().ok());
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("a":{"data_offsets":[8,12],"dtype":"F32","shape":[1,1]},)"
                       R"("b":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})";
  header.append(64 - (header.size() + 8) % 64, ' ');
  std::string data(12, '\0');
  std::memcpy(data.data(), b, 8);
  std::memcpy(data.data() + 8, a, 4);
  EXPECT_EQ(readFile("x"), fileOf(header, data));
}

TEST_F(SafetensorsTest, ReadsWhatItWrote) {
  SafetensorsWriter writer;
  ASSERT_TRUE(writer
                  .open(path("x"),
                        {{"\xc3\xa9t\xc3\xa9 \"q\"\n", {2, 3}}, {"none", {0, 4}}, {"s", {}}},
                        {{"k", "v\xe2\x82\xac"}})
                  .ok());
  const float values[] = {1, 2, 3, 4, 5, 6, 7};
  ASSERT_TRUE(writer.write(std::span(values).first(4)).ok()); // in pieces
  ASSERT_TRUE(writer.write(std::span(values).subspan(4)).ok());
  ASSERT_TRUE(writer.finish().ok());
  SafetensorsFile file;
  Status status = file.open(path("x"));
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.metadata().at("k"), "v\xe2\x82\xac");
  const SafetensorsEntry *entry = file.find("\xc3\xa9t\xc3\xa9 \"q\"\n");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->dtype, "F32");
  EXPECT_EQ(entry->shape, (std::vector<uint64_t>{2, 3}));
  uint64_t header = 0;
  std::memcpy(&header, readFile("x").data(), sizeof(header));
  EXPECT_EQ((sizeof(header) + header) % 64, 0u) << "tensors begin at a cache line";
  std::vector<float> middle(3);
  ASSERT_TRUE(file.readFloats(*entry, 2, middle).ok());
  EXPECT_EQ(middle, (std::vector<float>{3, 4, 5}));
  float scalar = 0;
  ASSERT_TRUE(file.readFloats(*file.find("s"), 0, {&scalar, 1}).ok());
  EXPECT_EQ(scalar, 7);
  EXPECT_EQ(file.find("none")->begin, file.find("none")->end);
  ASSERT_TRUE(file.readFloats(*file.find("none"), 0, {}).ok());
  EXPECT_EQ(file.find("other"), nullptr);
  EXPECT_EQ(file.readFloats(*entry, 4, middle).message(),
            "reading '" + path("x") + "': tensor '" + entry->name +
                "' has 6 elements; wanted 3 from 4 on");
}

TEST_F(SafetensorsTest, WritesAFileWithoutTensors) {
  SafetensorsWriter writer;
  ASSERT_TRUE(writer.open(path("x"), {}).ok());
  ASSERT_TRUE(writer.finish().ok());
  SafetensorsFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
  EXPECT_TRUE(file.entries().empty());
}

TEST_F(SafetensorsTest, RefusesToWriteWhatIsNoFile) {
  SafetensorsWriter writer;
  EXPECT_EQ(writer.open(path("x"), {{"a", {1}}, {"a", {2}}}).message(),
            "writing '" + path("x") + "': two tensors are named 'a'");
  EXPECT_FALSE(writer.open(path("x"), {{"__metadata__", {1}}}).ok());
  EXPECT_NE(writer.open(path("x"), {{"a\xff", {1}}}).message().find("is not UTF-8"),
            std::string::npos);
  uint64_t huge = uint64_t(1) << 62;
  EXPECT_FALSE(writer.open(path("x"), {{"a", {huge}}}).ok());
  ASSERT_TRUE(writer.open(path("x"), {{"a", {2}}}).ok());
  const float values[] = {1, 2, 3};
  EXPECT_EQ(writer.write(values).message(),
            "writing '" + path("x") + "': 3 elements where 2 are left");
  ASSERT_TRUE(writer.write(std::span(values).first(1)).ok());
  EXPECT_EQ(writer.finish().message(), "writing '" + path("x") + "': 1 elements were not written");
}

TEST_F(SafetensorsTest, NamesWhatIsWrongWithAFile) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string data(4, 'x');
  writeFile("x", fileOf(good, data));
  SafetensorsFile file;
  ASSERT_TRUE(file.open(path("x")).ok());

  EXPECT_EQ(message(""), "it has 0 bytes, too few for a safetensors file");
  EXPECT_EQ(message("1234567"), "it has 7 bytes, too few for a safetensors file");
  EXPECT_EQ(message(std::string(100, 'a')),
            "its header would have 7016996765293437281 bytes; wanted at most 100000000; is it a "
            "safetensors file?");
  EXPECT_EQ(message(fileOf(good).substr(0, 40)), "its header has 54 bytes, but the file only 40");
  EXPECT_EQ(message(fileOf("")), "its header does not begin with '{'");
  EXPECT_EQ(message(fileOf(" {}")), "its header does not begin with '{'");
  EXPECT_EQ(message(fileOf("{")), "its header is no JSON object");
  EXPECT_EQ(message(fileOf("{} x")), "its header is no JSON object");
  EXPECT_EQ(message(fileOf("{\"\xff\":1}")), "its header is no JSON object");
  EXPECT_EQ(message(fileOf("{}", "x")), "its tensors have 0 bytes, but 1 follow the header");
  EXPECT_EQ(message(fileOf(good)), "its tensors have 4 bytes, but 0 follow the header");
  EXPECT_EQ(message(fileOf(good, data + "y")), "its tensors have 4 bytes, but 5 follow the header");
  std::string deep = "{\"a\":" + std::string(100000, '[');
  EXPECT_EQ(message(fileOf(deep)), "its header nests deeper than a safetensors header does");
}

TEST_F(SafetensorsTest, NamesWhatIsWrongWithATensor) {
  auto entry = [&](const std::string &fields) {
    return fileOf("{\"a\":{" + fields + "}}", "wxyz");
  };
  EXPECT_EQ(message(fileOf(R"({"a":4})")), "tensor 'a' is no object");
  EXPECT_EQ(message(entry(R"("shape":[1],"data_offsets":[0,4])")), "tensor 'a' has no dtype");
  EXPECT_EQ(message(entry(R"("dtype":"F32","data_offsets":[0,4])")), "tensor 'a' has no shape");
  EXPECT_EQ(message(entry(R"("dtype":"F32","shape":[1])")), "tensor 'a' has no data_offsets");
  EXPECT_EQ(message(entry(R"("dtype":32,"shape":[1],"data_offsets":[0,4])")),
            "tensor 'a' has a dtype that is no string");
  EXPECT_EQ(message(entry(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])")),
            "tensor 'a' has the unknown dtype 'F31'");
  EXPECT_EQ(message(entry(R"("dtype":"F32","shape":1,"data_offsets":[0,4])")),
            "tensor 'a' has a shape that is no list");
  for (const char *size : {"-1", "1.0", "\"1\"", "null", "[1]", "1e400", "99999999999999999999"})
    EXPECT_NE(message(entry(std::string(R"("dtype":"F32","shape":[)") + size +
                            R"(],"data_offsets":[0,4])")),
              "")
        << size;
  for (const char *offsets : {"4", "[0]", "[0,4,8]", "[-4,0]", "[0,\"4\"]", "{}"})
    EXPECT_EQ(message(entry(std::string(R"("dtype":"F32","shape":[1],"data_offsets":)") + offsets)),
              "tensor 'a' has data_offsets that are no two whole numbers")
        << offsets;
  auto misfit = [](const char *range) {
    return std::string("tensor 'a' is at bytes ") + range +
           ", which its dtype and shape do not fill exactly";
  };
  EXPECT_EQ(message(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])")), misfit("0 to 4"));
  EXPECT_EQ(message(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])")), misfit("4 to 0"));
  EXPECT_EQ(message(entry(R"("dtype":"F4","shape":[7],"data_offsets":[0,4])")), misfit("0 to 4"));
  EXPECT_EQ(
      message(entry(
          R"("dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,0])")),
      misfit("0 to 0"));
  EXPECT_EQ(
      message(fileOf(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          "wxyz")),
      "its header has the key 'a' twice");
  EXPECT_EQ(message(entry(R"("dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4])")),
            "its header has the key 'dtype' twice");
  EXPECT_EQ(message(fileOf(R"({"__metadata__":{"k":1}})")), "its __metadata__ 'k' is no string");
  EXPECT_EQ(message(fileOf(R"({"__metadata__":[]})")), "its __metadata__ is no object");
}

// The safetensors library also skips keys that it does not know.
TEST_F(SafetensorsTest, SkipsFurtherKeysOfATensorAndNoMetadata) {
  writeFile(
      "x",
      fileOf(
          R"({"__metadata__":null,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":{"deep":[{"b":1}]}}})",
          "wxyz"));
  SafetensorsFile file;
  Status status = file.open(path("x"));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(file.entries().size(), 1u);
  EXPECT_EQ(
      message(fileOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1,"more":2}})",
                     "wxyz")),
      "its header has the key 'more' twice");
}

TEST_F(SafetensorsTest, RefusesHolesAndOverlaps) {
  auto two = [&](const char *a, const char *b, size_t bytes) {
    return fileOf(std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
                      R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}",
                  std::string(bytes, 'x'));
  };
  EXPECT_EQ(message(two("[0,4]", "[2,6]", 6)),
            "tensor 'b' begins at byte 2; wanted 4, where the one before it ends");
  EXPECT_EQ(message(two("[0,4]", "[0,4]", 4)),
            "tensor 'b' begins at byte 0; wanted 4, where the one before it ends");
  EXPECT_EQ(message(two("[5,9]", "[0,4]", 9)),
            "tensor 'a' begins at byte 5; wanted 4, where the one before it ends");
  EXPECT_EQ(message(two("[1,5]", "[5,9]", 9)),
            "tensor 'a' begins at byte 1; wanted 0, where the one before it ends");
}

// Every file that differs from a good one in some bytes opens, or gives a message.
TEST_F(SafetensorsTest, SurvivesRandomDamage) {
  const std::string good = fileOf(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}})",
      std::string(16, 'x'));
  std::mt19937 random(1);
  int opened = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string bytes = good;
    for (unsigned i = 0; i <= random() % 3; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    if (random() % 8 == 0)
      bytes.resize(random() % bytes.size());
    writeFile("x", bytes);
    SafetensorsFile file;
    Status status = file.open(path("x"));
    if (!status.ok()) {
      EXPECT_FALSE(status.message().empty());
      continue;
    }
    ++opened;
    for (const SafetensorsEntry &entry : file.entries()) {
      std::vector<float> values(1);
      if (entry.begin < entry.end)
        (void)file.readFloats(entry, 0, values);
    }
  }
  EXPECT_GT(opened, 0); // only the data were damaged
}

// The space is taken before the tensors are computed.
TEST_F(SafetensorsTest, TakesTheSpaceOfAllTensorsWhenItIsOpened) {
  SafetensorsWriter writer;
  EXPECT_EQ(writer.open(path("x"), {{"a", {uint64_t(1) << 57}}}).statusCode(),
            StatusCode::ResourceExhausted);
}

TEST_F(SafetensorsTest, WidensHalfPrecision) {
  // The values are one, the largest, the smallest normal and subnormal, minus zero, infinities,
  // NaN.
  const std::vector<int64_t> halves = {0x3c00, 0x7bff, 0x0400, 0x0001, 0x8000,
                                       0xfc00, 0x7c00, 0x7e00, 0xc500, 0x03ff};
  const float wanted[] = {1,         65504,    0x1p-14f, 0x1p-24f, -0.0f,
                          -INFINITY, INFINITY, NAN,      -5,       0x1.ff8p-15f};
  writeFile("x", fileOf(R"({"h":{"dtype":"F16","shape":[10],"data_offsets":[0,20]},)"
                        R"("i":{"dtype":"I32","shape":[1],"data_offsets":[28,32]},)"
                        R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[20,28]}})",
                        bytesOfValues<uint16_t>(halves) +
                            bytesOfValues<uint16_t>({0x3f80, 0xc0a0, 0x0001, 0x7f80}) + "1234"));
  SafetensorsFile file;
  ASSERT_TRUE(file.open(path("x")).ok());
  std::vector<float> values(10);
  ASSERT_TRUE(file.readFloats(*file.find("h"), 0, values).ok());
  for (size_t i = 0; i < 10; ++i)
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(values[i]));
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(wanted[i])) << i;
  values.resize(4);
  ASSERT_TRUE(file.readFloats(*file.find("b"), 0, values).ok());
  EXPECT_EQ(values, (std::vector<float>{1, -5, 0x1p-133f, INFINITY}));
  EXPECT_EQ(file.readFloats(*file.find("i"), 0, {}).message(),
            "reading '" + path("x") + "': tensor 'i' has dtype I32; wanted F32, BF16 or F16");
}
} // namespace
} // namespace dtc::rt

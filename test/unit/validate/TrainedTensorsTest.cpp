// Reads tensors of safetensors files, and refuses other files.
#include "compiler/measure/validate/TrainedTensors.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>

namespace dtc {
namespace {

std::string withHeader(const std::string &header, const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + header + data;
}

Result<std::map<std::string, std::vector<float>>> readBytes(const std::string &bytes) {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("tensors", "safetensors", path));
  std::ofstream(path.str().str(), std::ios::binary) << bytes;
  auto read = readTrainedTensors(path.str().str());
  llvm::sys::fs::remove(path);
  return read;
}

TEST(TrainedTensors, AreReadInThreeTypes) {
  std::string data;
  float f32 = -2.5F;
  data.append(reinterpret_cast<const char *>(&f32), 4);
  for (uint16_t bits : {uint16_t(0x3FC0), uint16_t(0xC100)}) // bf16 1.5, f16 -2.5
    data.append(reinterpret_cast<const char *>(&bits), 2);
  auto read = readBytes(withHeader(
      R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
          "b": {"dtype": "BF16", "shape": [1], "data_offsets": [4, 6]},
          "c": {"dtype": "F16", "shape": [1], "data_offsets": [6, 8]}})",
      data));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)["a"], std::vector<float>{-2.5F});
  EXPECT_EQ((*read)["b"], std::vector<float>{1.5F});
  EXPECT_EQ((*read)["c"], std::vector<float>{-2.5F});
}

TEST(TrainedTensors, WhatIsBrokenIsNamed) {
  struct Case {
    std::string bytes, what;
  };
  const std::string four(4, '\0');
  for (const Case &each : {
           Case{"abc", "no header"},
           Case{std::string(8, '\x7f'), "ends after the file"},
           Case{withHeader("[]", ""), "no JSON object"},
           Case{withHeader(R"({"a": {"dtype": "I8", "data_offsets": [0, 4]}})", four),
                "tensor 'a'"},
           Case{withHeader(R"({"a": {"dtype": "F32", "data_offsets": [0, 8]}})", four),
                "not within"},
           Case{withHeader(R"({"a": {"dtype": "F32", "data_offsets": [0, 3]}})", four),
                "not within"},
           Case{withHeader(R"({"a": {"dtype": "F32", "data_offsets": [-1, 4]}})", four),
                "tensor 'a'"},
           Case{withHeader(R"({"a": 1})", four), "tensor 'a'"},
       }) {
    auto read = readBytes(each.bytes);
    ASSERT_FALSE(read.ok()) << each.what;
    EXPECT_NE(read.error().message.find(each.what), std::string::npos) << read.error().message;
  }
}

} // namespace
} // namespace dtc

// Tests folders of `dtc data build`, written by hand.
#include "runtime/data/OpenTokens.h"
#include "test/unit/data/TempFolder.h"

#include <zlib.h>

#include <memory>

namespace dtc::rt {
namespace {

class BuiltFolderTest : public TempFolder {
protected:
  // Writes a shard of `ids` in blocks of 16 bytes, and returns its entry of dataset.json.
  std::string writeShard(const std::string &name, const std::string &ids, uint64_t tokens) {
    std::string hashes;
    for (size_t at = 0; at < ids.size(); at += 16)
      hashes += bytesOfValues<uint32_t>({crcOf(ids.substr(at, 16))});
    writeFile(name + ".bin", ids);
    writeFile(name + ".crc", hashes);
    return "{\"file\":\"" + name + ".bin\",\"tokens\":" + std::to_string(tokens) +
           ",\"crc_of_hashes\":" + std::to_string(crcOf(hashes)) + "}";
  }
  static uint32_t crcOf(const std::string &bytes) {
    return static_cast<uint32_t>(
        ::crc32_z(0, reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  }
  void describe(const std::string &shards, const std::string &rest = kRest) {
    writeFile("dataset.json",
              "{\"schema\":\"dtc.data/1\"," + rest + ",\"shards\":[" + shards + "]}");
  }
  std::string openError(uint64_t vocabulary = 300) {
    return openTokens(folder, {.vocabulary = vocabulary}, source).message();
  }

  static constexpr const char *kRest = "\"id_bytes\":2,\"block_bytes\":16,\"vocabulary\":300";
  std::unique_ptr<TokenSource> source;
};

std::string counting(int64_t first, int64_t end) {
  std::vector<int64_t> values;
  for (int64_t i = first; i < end; ++i)
    values.push_back(i);
  return bytesOfValues<uint16_t>(values);
}

TEST_F(BuiltFolderTest, ReadsItsShardsInOrder) {
  describe(writeShard("z", counting(0, 21), 21) + "," + writeShard("a", counting(21, 30), 9));
  writeFile("left.bin", "not named by dataset.json");
  ASSERT_EQ(openError(), "");
  EXPECT_EQ(source->size(), 30u);
  EXPECT_EQ(source->origin().format, "dtc data, 2-byte ids");
  EXPECT_EQ(source->origin().files, (std::vector<std::string>{path("z.bin"), path("a.bin")}));
  std::vector<int32_t> ids(30);
  ASSERT_TRUE(source->read(0, ids).ok());
  for (int32_t i = 0; i < 30; ++i)
    EXPECT_EQ(ids[i], i);
  std::vector<int32_t> some(4);
  ASSERT_TRUE(source->read(19, some).ok());
  EXPECT_EQ(some, (std::vector<int32_t>{19, 20, 21, 22}));
  EXPECT_FALSE(source->read(27, some).ok());
}

TEST_F(BuiltFolderTest, FindsDamageInWhatIsRead) {
  std::string ids = counting(0, 20), shard = writeShard("s", ids, 20);
  describe(shard);
  ids[2 * 8] ^= 1; // id 8, in block 1 of three
  writeFile("s.bin", ids);
  ASSERT_EQ(openError(), "");
  std::vector<int32_t> some(4);
  EXPECT_TRUE(source->read(4, some).ok());
  EXPECT_TRUE(source->read(16, some).ok());
  Status status = source->read(5, some);
  EXPECT_EQ(status.statusCode(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(),
            "reading '" + path("s.bin") +
                "': its bytes 16 to 32 are damaged: their hash is another than '" + path("s.crc") +
                "' says; 'dtc data verify' reads the whole folder");
  EXPECT_FALSE(source->read(15, some).ok());
}

TEST_F(BuiltFolderTest, ChecksSizesAndHashesWhenItIsOpened) {
  std::string shard = writeShard("s", counting(0, 20), 20);
  describe(shard);
  writeFile("s.bin", counting(0, 19));
  EXPECT_EQ(openError(), "reading '" + path("s.bin") +
                             "': it has 38 bytes, and dataset.json says 20 tokens of 2");
  writeShard("s", counting(0, 20), 20);
  std::string hashes = readFile("s.crc");
  hashes[5] ^= 1;
  writeFile("s.crc", hashes);
  EXPECT_EQ(openError(), "reading '" + path("s.crc") +
                             "': it is damaged: its hash is another than dataset.json says");
  ::unlink(path("s.crc").c_str());
  EXPECT_EQ(openError(), "opening '" + path("s.crc") + "': No such file or directory");
}

TEST_F(BuiltFolderTest, RefusesAnotherVocabulary) {
  describe(writeShard("s", counting(0, 20), 20));
  EXPECT_EQ(openError(300), "");
  EXPECT_EQ(openError(0), "");
  EXPECT_EQ(openError(300 + 4096), ""); // padded
  std::string end = "; build it with the model's tokenizer, or write u16:" + folder +
                    " or u32:" + folder + " to take its ids as they are";
  EXPECT_EQ(openError(299),
            "opening '" + folder + "': its tokenizer has 300 entries and the model 299" + end);
  EXPECT_EQ(openError(50257),
            "opening '" + folder + "': its tokenizer has 300 entries and the model 50257" + end);
  EXPECT_EQ(openTokens("u16:" + folder, {.vocabulary = 50257}, source).message(), "");
}

TEST_F(BuiltFolderTest, RefusesADescriptionThatIsNotWhole) {
  std::string shard = writeShard("s", counting(0, 20), 20),
              start = "reading '" + path("dataset.json");
  describe("");
  EXPECT_EQ(openError(), start + "': it names no shards: the folder holds no tokens");
  describe(shard, "\"id_bytes\":3,\"block_bytes\":16,\"vocabulary\":300");
  EXPECT_EQ(openError(), start + "': ids of 3 bytes in blocks of 16");
  describe(shard, "\"id_bytes\":2,\"block_bytes\":0,\"vocabulary\":300");
  EXPECT_EQ(openError(), start + "': ids of 2 bytes in blocks of 0");
  describe(shard, "\"id_bytes\":2,\"block_bytes\":16,\"vocabulary\":-1");
  EXPECT_EQ(openError(), start + "': 'vocabulary' is no whole number of 0 or more");
  describe("{\"file\":\"../s.bin\",\"tokens\":20,\"crc_of_hashes\":1}");
  EXPECT_EQ(openError(), start + "': '../s.bin' is no name of a shard");
  describe("{\"file\":\"s.bin\",\"tokens\":9223372036854775809,\"crc_of_hashes\":1}");
  EXPECT_EQ(openError(), "reading '" + path("s.bin") +
                             "': it has 40 bytes, and dataset.json says "
                             "9223372036854775809 tokens of 2");
  for (const char *text :
       {"", "[]", "{\"schema\":\"dtc.data/2\"}", "[[[[[[[[[[", "{\"schema\":1}"}) {
    writeFile("dataset.json", text);
    EXPECT_EQ(openError().find(start), 0u) << text;
  }
}

TEST_F(BuiltFolderTest, RefusesOneThatIsNotFinished) {
  writeShard("s", counting(0, 20), 20);
  writeFile("building.json", "{}");
  EXPECT_EQ(openError(), "opening '" + folder +
                             "': it is not finished; the 'dtc data build' that began it goes on "
                             "where it stopped when it is called again");
}

} // namespace
} // namespace dtc::rt

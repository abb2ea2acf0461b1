// Token files of every format, whole and damaged.
#include "runtime/data/TokenSource.h"
#include "test/unit/data/TempFolder.h"

#include <sys/stat.h>

namespace dtc::rt {
namespace {
class TokenSourceTest : public TempFolder {
protected:
  Status open(const std::string &name, uint64_t vocabulary = 0) {
    return openTokens(path(name), {.vocabulary = vocabulary}, source);
  }
  // All tokens of `source`.
  std::vector<int32_t> all() const {
    std::vector<int32_t> tokens(source->size());
    Status status = source->read(0, tokens);
    EXPECT_TRUE(status.ok()) << status.message();
    return tokens;
  }
  static std::string llmc(int32_t magic, int32_t version, int32_t count, const std::string &data) {
    std::vector<int64_t> header(256, 0);
    header[0] = magic;
    header[1] = version;
    header[2] = count;
    return bytesOfValues<int32_t>(header) + data;
  }
  // Writes X.bin and X.idx for sequences of tokens of type T.
  template <typename T>
  void writeMegatron(const std::string &stem, uint8_t code,
                     const std::vector<std::vector<int64_t>> &sequences,
                     const std::vector<int64_t> &documents, const std::string &tail = "") {
    std::string bin, lengths, pointers;
    for (const auto &sequence : sequences) {
      lengths += bytesOfValues<int32_t>({static_cast<int64_t>(sequence.size())});
      pointers += bytesOfValues<int64_t>({static_cast<int64_t>(bin.size())});
      bin += bytesOfValues<T>(sequence);
    }
    writeFile(stem + ".bin", bin);
    writeFile(stem + ".idx", std::string("MMIDIDX\0\0", 9) + bytesOfValues<uint64_t>({1}) +
                                 std::string(1, static_cast<char>(code)) +
                                 bytesOfValues<uint64_t>({static_cast<int64_t>(sequences.size()),
                                                          static_cast<int64_t>(documents.size())}) +
                                 lengths + pointers + bytesOfValues<int64_t>(documents) + tail);
  }
  std::unique_ptr<TokenSource> source;
};
using Tokens = std::vector<int32_t>;

TEST_F(TokenSourceTest, ReadsTextAsBytes) {
  writeFile("a.txt", "hi \xc3\xa9");
  ASSERT_TRUE(open("a.txt", 256).ok());
  EXPECT_EQ(all(), (Tokens{'h', 'i', ' ', 0xc3, 0xa9}));
  EXPECT_EQ(source->name(), path("a.txt"));
}

TEST_F(TokenSourceTest, ReadsLlmcFiles) {
  writeFile("a.bin", llmc(20240520, 1, 3, bytesOfValues<uint16_t>({1, 50256, 65535})));
  ASSERT_TRUE(open("a.bin").ok());
  EXPECT_EQ(all(), (Tokens{1, 50256, 65535}));
  writeFile("b.bin", llmc(20240801, 7, 2, bytesOfValues<uint32_t>({128255, 7})));
  ASSERT_TRUE(open("b.bin").ok());
  EXPECT_EQ(all(), (Tokens{128255, 7}));
  writeFile("none.bin", llmc(20240520, 1, 0, ""));
  ASSERT_TRUE(open("none.bin").ok());
  EXPECT_EQ(source->size(), 0u);
}

TEST_F(TokenSourceTest, RefusesDamagedLlmcFiles) {
  std::string name = path("a.bin"), tokens = bytesOfValues<uint16_t>({1, 2, 3});
  auto message = [&](const std::string &bytes) {
    writeFile("a.bin", bytes);
    return open("a.bin").message();
  };
  EXPECT_EQ(message(llmc(20240520, 1, 4, tokens)),
            "opening '" + name + "': it has 1030 bytes, but its header's 4 tokens make 1032");
  EXPECT_EQ(message(llmc(20240520, 1, 2, tokens)),
            "opening '" + name + "': it has 1030 bytes, but its header's 2 tokens make 1028");
  EXPECT_EQ(message(llmc(20240520, 1, -1, tokens)),
            "opening '" + name + "': its header says -1 tokens");
  EXPECT_EQ(message(llmc(20240520, 2, 3, tokens)),
            "opening '" + name + "': it is an llm.c file of version 2; wanted 1");
  EXPECT_EQ(message(llmc(20240520, 1, 3, tokens).substr(0, 1000)),
            "opening '" + name + "': it has 1000 bytes, less than an llm.c header of 1024");
  EXPECT_EQ(message(llmc(20240522, 1, 3, tokens)),
            "opening '" + name + "': it is an llm.c evaluation file; wanted token data");
  EXPECT_EQ(message(llmc(20240326, 3, 3, tokens)),
            "opening '" + name + "': it is an llm.c model checkpoint; wanted token data");
}

TEST_F(TokenSourceTest, ReadsNanoGptFiles) {
  writeFile("train.bin", bytesOfValues<uint16_t>({5, 6, 50256}));
  ASSERT_TRUE(open("train.bin").ok());
  EXPECT_EQ(all(), (Tokens{5, 6, 50256}));
  writeFile("odd.bin", "abc");
  Status status = open("odd.bin");
  EXPECT_EQ(status.statusCode(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(), "opening '" + path("odd.bin") +
                                  "': it has no llm.c header and 3 bytes; uint16 tokens need an "
                                  "even number");
  writeFile("empty.bin", "");
  ASSERT_TRUE(open("empty.bin").ok());
  EXPECT_EQ(source->size(), 0u);
}

TEST_F(TokenSourceTest, ReadsMegatronFiles) {
  writeMegatron<uint16_t>("m", 8, {{1, 2}, {}, {65000}}, {0, 1, 3});
  for (const char *name : {"m.bin", "m.idx", "m"}) {
    ASSERT_TRUE(open(name).ok()) << name;
    EXPECT_EQ(all(), (Tokens{1, 2, 65000}));
  }
  writeMegatron<int32_t>("wide", 4, {{100000}, {7}}, {0, 2}, std::string(2, '\0')); // with modes
  ASSERT_TRUE(open("wide.bin").ok());
  EXPECT_EQ(all(), (Tokens{100000, 7}));
  writeMegatron<int64_t>("long", 5, {{1, 2147483647}}, {0, 1});
  ASSERT_TRUE(open("long.bin").ok());
  EXPECT_EQ(all(), (Tokens{1, 2147483647}));
  writeMegatron<uint8_t>("bytes", 1, {{255}}, {0, 1});
  ASSERT_TRUE(open("bytes.bin").ok());
  EXPECT_EQ(all(), (Tokens{255}));
}

TEST_F(TokenSourceTest, RefusesDamagedMegatronIndexes) {
  writeMegatron<uint16_t>("m", 8, {{1, 2}, {3}}, {0, 2});
  const std::string good = readFile("m.idx");
  ASSERT_TRUE(open("m.bin").ok());
  auto message = [&](const std::string &bytes) {
    writeFile("m.idx", bytes);
    std::string text = open("m.bin").message();
    std::string prefix = "opening '" + path("m.idx") + "': ";
    EXPECT_EQ(text.substr(0, prefix.size()), prefix);
    return text.substr(std::min(prefix.size(), text.size()));
  };
  auto with = [&](size_t at, const std::string &bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  EXPECT_EQ(message(good.substr(0, 20)), "it has 20 bytes, less than a header of 34");
  EXPECT_EQ(message(with(0, "X")), "it does not begin with MMIDIDX; wanted a Megatron index");
  EXPECT_EQ(message(with(9, bytesOfValues<uint64_t>({2}))), "it is of version 2; wanted 1");
  for (uint8_t code : {0, 6, 7, 9, 255})
    EXPECT_EQ(message(with(17, std::string(1, static_cast<char>(code)))),
              "its tokens are of type " + std::to_string(code) +
                  "; wanted an integer type, 1 to 5 or 8");
  EXPECT_EQ(message(with(18, bytesOfValues<uint64_t>({int64_t(1) << 62}))),
            "it has 74 bytes, which do not hold its 4611686018427387904 sequences and 2 document "
            "bounds");
  EXPECT_EQ(message(good.substr(0, 73)),
            "it has 73 bytes, which do not hold its 2 sequences and 2 document bounds");
  EXPECT_EQ(message(with(34, bytesOfValues<int32_t>({-1}))), "sequence 0 has -1 tokens");
  EXPECT_EQ(message(with(34, bytesOfValues<int32_t>({3}))),
            "sequence 1 starts at byte 4; wanted 6, where the one before it ends");
  EXPECT_EQ(message(with(42, bytesOfValues<int64_t>({2}))),
            "sequence 0 starts at byte 2; wanted 0, where the one before it ends");
  EXPECT_EQ(message(with(38, bytesOfValues<int32_t>({2}))),
            "its sequences have 8 bytes, but the .bin beside it has 6");
  EXPECT_EQ(message(with(58, bytesOfValues<int64_t>({1}))),
            "document bound 0 is sequence 1; wanted 0 to 0");
  EXPECT_EQ(message(with(66, bytesOfValues<int64_t>({3}))),
            "document bound 1 is sequence 3; wanted 0 to 2");
  EXPECT_EQ(message(with(66, bytesOfValues<int64_t>({-1}))),
            "document bound 1 is sequence -1; wanted 0 to 2");
}

TEST_F(TokenSourceTest, ReadsAFolderInOrderOfName) {
  writeFile("b.txt", "cd");
  writeFile("a.txt", "ab");
  writeFile("c.txt", "");
  writeFile("d.bin", bytesOfValues<uint16_t>({1000}));
  writeMegatron<uint16_t>("e", 8, {{7, 8}}, {0, 1});
  writeFile("notes.md", "ignored");
  writeFile(".hidden.txt", "ignored");
  ASSERT_EQ(::mkdir(path("sub.txt").c_str(), 0700), 0);
  ASSERT_TRUE(openTokens(folder, {}, source).ok());
  EXPECT_EQ(all(), (Tokens{'a', 'b', 'c', 'd', 1000, 7, 8}));
  // Across the border of files.
  Tokens part(4);
  ASSERT_TRUE(source->read(1, part).ok());
  EXPECT_EQ(part, (Tokens{'b', 'c', 'd', 1000}));
  EXPECT_EQ(source->read(4, part).message(),
            "reading '" + folder + "': wanted 4 tokens from token 4 on, it has 7");
  ASSERT_TRUE(source->read(7, {}).ok());
}

TEST_F(TokenSourceTest, RefusesAFolderWithoutTokens) {
  writeFile("notes.md", "ignored");
  EXPECT_EQ(openTokens(folder, {}, source).message(),
            "opening folder '" + folder + "': it has no .bin and no .txt files");
  writeFile("a.txt", "");
  ASSERT_TRUE(openTokens(folder, {}, source).ok());
  EXPECT_EQ(source->size(), 0u);
}

TEST_F(TokenSourceTest, NamesAMissingFile) {
  Status status = open("none.bin");
  EXPECT_EQ(status.statusCode(), StatusCode::NotFound);
  EXPECT_EQ(status.message(), "opening '" + path("none.bin") + "': No such file or directory");
  EXPECT_EQ(open("none.idx").statusCode(), StatusCode::NotFound);
}

TEST_F(TokenSourceTest, ReadsNamesThatAreNotAscii) {
  writeFile("\xc3\xa9t\xc3\xa9.txt", "x");
  ASSERT_TRUE(open("\xc3\xa9t\xc3\xa9.txt").ok());
  EXPECT_EQ(source->size(), 1u);
}

TEST_F(TokenSourceTest, TellsWhereATokenIsOutsideTheVocabulary) {
  writeFile("a.bin", bytesOfValues<uint16_t>({1, 9, 10, 3}));
  ASSERT_TRUE(open("a.bin", 10).ok());
  Tokens two(2);
  ASSERT_TRUE(source->read(0, two).ok());
  Status status = source->read(1, two);
  EXPECT_EQ(status.statusCode(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(), "reading '" + path("a.bin") +
                                  "': token 2 is 10; wanted a token below the vocabulary size 10");
  writeMegatron<int32_t>("m", 4, {{-5}}, {0, 1});
  ASSERT_TRUE(open("m.bin", 10).ok());
  EXPECT_EQ(source->read(0, std::span(two).first(1)).message(),
            "reading '" + path("m.bin") +
                "': token 0 is -5; wanted a token below the vocabulary size 10");
  writeMegatron<int64_t>("l", 5, {{int64_t(1) << 40}}, {0, 1});
  ASSERT_TRUE(open("l.bin").ok());
  EXPECT_EQ(source->read(0, std::span(two).first(1)).message(),
            "reading '" + path("l.bin") + "': token 0 is 1099511627776; wanted 0 to 2147483647");
}

TEST_F(TokenSourceTest, MakesSyntheticTokens) {
  ASSERT_TRUE(openTokens("synthetic", {.vocabulary = 1000, .seed = 1234}, source).ok());
  // Computed in Python from Philox4x32-10.
  Tokens tokens(5), again(2);
  ASSERT_TRUE(source->read(0, tokens).ok());
  EXPECT_EQ(tokens, (Tokens{90, 703, 136, 972, 216}));
  ASSERT_TRUE(source->read(3, again).ok());
  EXPECT_EQ(again, (Tokens{972, 216}));
  EXPECT_FALSE(source->read(source->size(), again).ok());
  EXPECT_FALSE(source->read(~uint64_t(0), again).ok());
  EXPECT_EQ(openTokens("synthetic", {}, source).message(),
            "making synthetic tokens: the vocabulary size is 0; wanted 1 to 2147483648");
}
} // namespace
} // namespace dtc::rt

// Tests token files of every format, whole and damaged.
#include "runtime/data/TokenSource.h"
#include "runtime/data/OpenTokens.h"
#include "test/unit/data/TempFolder.h"

#include <sys/stat.h>

namespace dtc::rt {
namespace {
class TokenSourceTest : public TempFolder {
protected:
  Status open(const std::string &name, uint64_t vocabulary = 0) {
    return openTokens(path(name), {.vocabulary = vocabulary}, source);
  }
  // Returns all tokens of `source`.
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
  // Returns the advice in errors about the ids of NAME.bin.
  std::string stating(const std::string &name) const {
    std::string bin = path(name + ".bin");
    return "write u16:" + bin + ", u32:" + bin + " or u64:" + bin +
           ", by the bytes of an id; a Megatron data set has '" + path(name + ".idx") +
           "' beside it, which is missing";
  }
  std::string messageOf(const std::string &argument, uint64_t vocabulary = 1000,
                        Split split = Split::Training) {
    return openTokens(argument, {.vocabulary = vocabulary, .split = split}, source).message();
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
using Names = std::vector<std::string>;

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
  ASSERT_TRUE(open("train.bin", 50257).ok());
  EXPECT_EQ(all(), (Tokens{5, 6, 50256}));
  writeFile("odd.bin", "abc");
  Status status = open("odd.bin", 50257);
  EXPECT_EQ(status.statusCode(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(), "opening '" + path("odd.bin") +
                                  "': it has no header and 3 bytes, which is not a whole number of "
                                  "2-byte ids; " +
                                  stating("odd"));
  writeFile("empty.bin", "");
  ASSERT_TRUE(open("empty.bin", 50257).ok());
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
  writeFile("notes.md", "ignored");
  writeFile(".hidden.txt", "ignored");
  ASSERT_EQ(::mkdir(path("sub.txt").c_str(), 0700), 0);
  ASSERT_TRUE(openTokens(folder, {.vocabulary = 256}, source).ok());
  EXPECT_EQ(all(), (Tokens{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(source->origin().files, (Names{path("a.txt"), path("b.txt"), path("c.txt")}));
  EXPECT_EQ(source->origin().format, "text, 1 byte a token");
  // Across the border of files.
  Tokens part(3);
  ASSERT_TRUE(source->read(1, part).ok());
  EXPECT_EQ(part, (Tokens{'b', 'c', 'd'}));
  EXPECT_EQ(source->read(2, part).message(),
            "reading '" + folder + "': wanted 3 tokens from token 2 on, it has 4");
  ASSERT_TRUE(source->read(4, {}).ok());
  // Ids are not bytes of text.
  writeFile("d.bin", bytesOfValues<uint16_t>({100}));
  EXPECT_EQ(messageOf(folder, 256),
            "opening folder '" + folder +
                "': it has ids ('d.bin') and text ('a.txt', 'b.txt', 'c.txt'), whose tokens are "
                "not the same; give a folder of one kind");
}

TEST_F(TokenSourceTest, ReadsFormatsOfIdsOneAfterTheOther) {
  writeFile("a.bin", bytesOfValues<uint16_t>({1, 2}));
  writeFile("b.bin", llmc(20240801, 7, 1, bytesOfValues<uint32_t>({3})));
  ASSERT_TRUE(openTokens(folder, {.vocabulary = 1000}, source).ok());
  EXPECT_EQ(all(), (Tokens{1, 2, 3}));
  EXPECT_EQ(source->origin().format, "2-byte ids without a header and llm.c, 4-byte ids");
  // Another index exists, so a .bin without a header has lost its own.
  writeMegatron<uint16_t>("e", 8, {{7, 8}}, {0, 1});
  EXPECT_EQ(messageOf(folder), "opening folder '" + folder +
                                   "': 'a.bin' has no header, and 'a.idx' is missing, which the "
                                   "other files here have");
  ::unlink(path("a.bin").c_str());
  ASSERT_TRUE(openTokens(folder, {.vocabulary = 1000}, source).ok());
  EXPECT_EQ(all(), (Tokens{3, 7, 8}));
  ::unlink(path("e.bin").c_str());
  EXPECT_EQ(messageOf(folder), "opening folder '" + folder +
                                   "': 'e.idx' is there and 'e.bin' is missing; a Megatron data "
                                   "set needs both");
}

TEST_F(TokenSourceTest, NeverMixesTrainingWithValidation) {
  for (const char *name : {"fineweb_train_000001.bin", "fineweb_train_000002.bin"})
    writeFile(name, bytesOfValues<uint16_t>({1}));
  writeFile("fineweb_val_000000.bin", bytesOfValues<uint16_t>({2}));
  ASSERT_EQ(messageOf(folder), "");
  EXPECT_EQ(all(), (Tokens{1, 1}));
  EXPECT_EQ(source->origin().leftOut, (Names{path("fineweb_val_000000.bin")}));
  ASSERT_EQ(messageOf(folder, 1000, Split::Validation), "");
  EXPECT_EQ(all(), (Tokens{2}));
  EXPECT_EQ(source->origin().leftOut.size(), 2u);
  // Both leave out a third part.
  writeFile("test.bin", bytesOfValues<uint16_t>({3}));
  ASSERT_EQ(messageOf(folder), "");
  EXPECT_EQ(all(), (Tokens{1, 1}));
  ASSERT_EQ(messageOf(folder, 1000, Split::Validation), "");
  EXPECT_EQ(all(), (Tokens{2}));
  ::unlink(path("test.bin").c_str());
  // A name without a known word is neither.
  writeFile("more.bin", bytesOfValues<uint16_t>({3}));
  EXPECT_EQ(messageOf(folder), "opening folder '" + folder +
                                   "': it has files for training and for validation, and "
                                   "'more.bin' is named as neither; give --data a file, or a "
                                   "folder of the wanted ones alone");
  for (int i = 1; i <= 2; ++i)
    ::unlink(path("fineweb_train_00000" + std::to_string(i) + ".bin").c_str());
  EXPECT_EQ(messageOf(folder), "opening folder '" + folder +
                                   "': it mixes files to evaluate on ('fineweb_val_000000.bin') "
                                   "with others ('more.bin'), and none is named 'train'; give "
                                   "--data a file, or a folder of them alone");
  // If there is only one part, it is used for everything.
  ::unlink(path("more.bin").c_str());
  ASSERT_EQ(messageOf(folder), "");
  EXPECT_EQ(all(), (Tokens{2}));
  // Words are compared as a whole: neither "valuable" nor "trainer" is one of them.
  writeFile("valuable.bin", "");
  writeFile("trainer.bin", "");
  ::unlink(path("fineweb_val_000000.bin").c_str());
  ASSERT_EQ(messageOf(folder), "");
  EXPECT_EQ(source->origin().files.size(), 2u);
}

TEST_F(TokenSourceTest, TakesBytesOnlyWhereTheyAreMeant) {
  writeFile("words", "words, not bytes");
  writeFile("words.md", "words, not bytes");
  for (const char *name : {"words", "words.md"}) {
    for (uint64_t vocabulary : {256, 257, 512})
      EXPECT_EQ(messageOf(path(name), vocabulary), "") << vocabulary;
    for (uint64_t vocabulary : {0, 61, 255, 513, 1024, 50257, 128256}) {
      std::string message = messageOf(path(name), vocabulary);
      EXPECT_NE(message.find("it is text, and the model's tokens are not bytes"), std::string::npos)
          << vocabulary << message;
      EXPECT_NE(message.find("or write bytes:" + path(name) + " to train on its bytes"),
                std::string::npos)
          << message;
      EXPECT_EQ(messageOf("bytes:" + path(name), vocabulary), "") << vocabulary;
    }
  }
  ASSERT_EQ(messageOf("bytes:" + path("words")), "");
  EXPECT_EQ(all().size(), 16u);
  EXPECT_EQ(source->origin().format, "bytes, 1 a token");
  // The name of a text file tells that it is text, even in another encoding.
  writeFile("latin1.txt", "caf\xe9");
  writeFile("latin1", "caf\xe9");
  EXPECT_EQ(messageOf(path("latin1.txt"), 256), "");
  EXPECT_NE(messageOf(path("latin1"), 256).find("its format is unknown"), std::string::npos);
  // A .bin contains ids.
  writeFile("words.bin", std::string(100, 'w'));
  EXPECT_NE(messageOf(path("words.bin"), 256).find("it is text, and a .bin holds ids"),
            std::string::npos);
  EXPECT_EQ(messageOf("bytes:"), "'bytes:' names no file; write bytes:FILE");
}

TEST_F(TokenSourceTest, FindsTheWidthOfPlainIdsOrAsks) {
  const std::vector<int64_t> ids = {5, 70000, 9, 127999, 12, 65536, 3, 99999};
  const std::vector<int64_t> small = {5, 7, 9, 11, 13, 15, 17, 19};
  writeFile("u32.bin", bytesOfValues<uint32_t>(ids));
  ASSERT_EQ(messageOf(path("u32.bin"), 128256), "");
  EXPECT_EQ(all(), Tokens(ids.begin(), ids.end()));
  EXPECT_EQ(source->origin().format, "4-byte ids without a header");
  // Ids of two bytes cannot hold more than 65,536 entries, and the sample shows that these are such
  // ids.
  writeFile("u16.bin", bytesOfValues<uint16_t>({50000, 40000, 30000, 20000, 10000, 1, 2, 3}));
  EXPECT_NE(messageOf(path("u16.bin"), 128256)
                .find("its ids are not of the 4 bytes that 128256 vocabulary entries take"),
            std::string::npos);
  EXPECT_NE(messageOf("u16:" + path("u16.bin"), 128256)
                .find("ids of 2 bytes cannot reach the model's 128256 vocabulary entries"),
            std::string::npos);
  EXPECT_EQ(messageOf(path("u16.bin"), 65536), "");
  EXPECT_EQ(source->size(), 8u);
  // Wide ids of a small vocabulary could also be narrow ids with 0 between them.
  writeFile("small.bin", bytesOfValues<uint32_t>(small));
  EXPECT_EQ(messageOf(path("small.bin"), 50257),
            "opening '" + path("small.bin") +
                "': it has no header, and its ids seem to have 4 bytes each, not 2; " +
                stating("small"));
  writeFile("small.bin", bytesOfValues<int64_t>(small));
  for (uint64_t vocabulary : {50257, 128256})
    EXPECT_NE(messageOf(path("small.bin"), vocabulary).find("seem to have 8 bytes each"),
              std::string::npos)
        << vocabulary;
  ASSERT_EQ(messageOf("u64:" + path("small.bin"), 50257), "");
  EXPECT_EQ(all(), Tokens(small.begin(), small.end()));
  writeFile("small.bin", bytesOfValues<uint32_t>(small));
  ASSERT_EQ(messageOf("u32:" + path("small.bin"), 50257), "");
  EXPECT_EQ(all(), Tokens(small.begin(), small.end()));
  // If the model does not tell, the user must.
  EXPECT_NE(messageOf(path("small.bin"), 0).find("the bytes of an id are unknown"),
            std::string::npos);
  // Any name is accepted if the width is given, and a header is not taken for ids.
  writeFile("ids.dat", bytesOfValues<uint16_t>({1, 2}));
  EXPECT_NE(messageOf(path("ids.dat")).find("write u16:" + path("ids.dat")), std::string::npos);
  ASSERT_EQ(messageOf("u16:" + path("ids.dat")), "");
  EXPECT_EQ(all(), (Tokens{1, 2}));
  writeFile("l.bin", llmc(20240520, 1, 1, bytesOfValues<uint16_t>({1})));
  EXPECT_NE(messageOf("u16:" + path("l.bin")).find("it has an llm.c header"), std::string::npos);
  // An llm.c header gives the width under any name.
  writeFile("tokens.dat", llmc(20240801, 7, 1, bytesOfValues<uint32_t>({70000})));
  ASSERT_EQ(messageOf(path("tokens.dat"), 128256), "");
  EXPECT_EQ(all(), (Tokens{70000}));
}

TEST_F(TokenSourceTest, NamesAMissingIndex) {
  writeFile("web_text_document.bin", bytesOfValues<uint16_t>({1, 2}));
  EXPECT_EQ(messageOf(path("web_text_document.bin")),
            "opening '" + path("web_text_document.bin") +
                "': a Megatron data set has its index beside it, and '" +
                path("web_text_document.idx") +
                "' is missing; bring it here, or write u16:" + path("web_text_document.bin") +
                " or u32:" + path("web_text_document.bin") + ", by the bytes of an id");
  for (const char *name : {"web_text_document", "web_text_document.idx"})
    EXPECT_EQ(messageOf(path(name)), "opening '" + path(name) + "': '" +
                                         path("web_text_document.bin") + "' is there and '" +
                                         path("web_text_document.idx") +
                                         "' is missing; a Megatron data set needs both");
  writeFile("index", std::string("MMIDIDX\0\0", 9) + std::string(40, '\0'));
  EXPECT_NE(messageOf(path("index")).find("it is a Megatron index; name it .idx"),
            std::string::npos);
}

// No other format is taken for tokens, whatever the name and the vocabulary are.
TEST_F(TokenSourceTest, RefusesOtherFormatsWithWhatToDo) {
  const struct {
    std::string begin;
    const char *what, *advice;
  } formats[] = {
      {std::string("\x1f\x8b\x08\x00", 4), "a gzip archive", "unpack it: gunzip '"},
      {"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it: unzstd '"},
      {"BZh91AY&SY", "a bzip2 archive", "bunzip2"},
      {std::string("\xfd"
                   "7zXZ\0",
                   6),
       "an xz archive", "unxz"},
      {std::string("PK\x03\x04") + std::string(22, '\1') + std::string("\x05\0\0\0", 4) + "a.npy",
       "a NumPy archive (.npz)", "NAME=FILE.npy"},
      {std::string("PK\x03\x04") + std::string(22, '\1') + std::string("\x05\0\0\0", 4) + "a.txt",
       "a zip archive", "unzip"},
      {std::string("PK\x03\x04") + std::string(22, '\1') + std::string("\x0d\0\0\0", 4) +
           "a/b/data.pkl",
       "a zip archive", "unzip"},
      {"PAR1", "a Parquet file", "make tokens of it: dtc data build"},
      {std::string("ARROW1\0\0", 8), "an Arrow file", "tokenize"},
      {"\x89PNG\r\n\x1a\n", "a PNG picture", "NAME=FILE.npy"},
      {"\xff\xd8\xff\xe0", "a JPEG picture", "NAME=FILE.npy"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file", "NAME=FILE.npy"},
      {std::string("\x10\0\0\0\0\0\0\0{\"a\":", 13), "a safetensors file", "--init"},
      {"GGUF", "a GGUF file", "--init"},
      {"{\"text\": \"a\"}\n{\"text\": \"b\"}\n", "JSON", "bytes:"},
      {"[\n  {\"text\": 1}]", "JSON", "bytes:"},
      {"[1, 2, 3]", "JSON", "make tokens of it: dtc data build"},
  };
  for (const auto &each : formats)
    for (const char *name : {"x", "x.txt", "x.bin", "x.dat"})
      for (uint64_t vocabulary : {0, 256, 1024, 128256}) {
        writeFile(name, each.begin + std::string(100, each.begin[0] == '{' ? ' ' : '\n'));
        std::string message = messageOf(path(name), vocabulary);
        std::string wanted = "opening '" + path(name) + "': it is " + each.what;
        EXPECT_EQ(message.substr(0, wanted.size()), wanted) << message;
        EXPECT_NE(message.find(each.advice), std::string::npos) << message;
        EXPECT_EQ(messageOf("bytes:" + path(name), vocabulary), "") << "as they are";
      }
  // Text may begin with a bracket.
  writeFile("x", "[1] is a footnote, and {this} is a brace.");
  EXPECT_EQ(messageOf(path("x"), 256), "");
  writeFile("x", "{this} is a brace.");
  EXPECT_EQ(messageOf(path("x"), 256), "");
}

// A byte order mark in front of text says its encoding; in front of anything else it may be an id.
TEST_F(TokenSourceTest, RefusesTextInUtf16AndUtf32) {
  auto wide = [](const std::string &ascii, size_t width, bool isLittle) {
    std::string text;
    for (char c : ascii) {
      std::string unit(width, '\0');
      unit[isLittle ? 0 : width - 1] = c;
      text += unit;
    }
    return text;
  };
  const struct {
    std::string bytes;
    const char *encoding;
  } texts[] = {
      {"\xff\xfe" + wide("A line.\n", 2, true), "UTF-16"},
      {"\xfe\xff" + wide("A line.\n", 2, false), "UTF-16"},
      {"\xff\xfe", "UTF-16"},
      {std::string("\xff\xfe\x3d\xd8\x00\xde", 6), "UTF-16"}, // one letter of two units
      {std::string("\xff\xfe\0\0", 4) + wide("A line.\n", 4, true), "UTF-32"},
      {std::string("\0\0\xfe\xff", 4) + wide("A line.\n", 4, false), "UTF-32"},
  };
  for (const auto &each : texts)
    for (const char *name : {"x", "x.txt", "x.bin"})
      for (uint64_t vocabulary : {256, 512, 128256}) {
        writeFile(name, each.bytes);
        std::string encoding = each.encoding, file = path(name);
        EXPECT_EQ(messageOf(file, vocabulary),
                  "opening '" + file + "': it is text in " + encoding + "; convert it: iconv -f " +
                      encoding + " -t UTF-8 '" + file + "' > text.txt, or write bytes:" + file +
                      " to train on its bytes as they are");
        EXPECT_EQ(messageOf("bytes:" + file, vocabulary), "") << "as they are";
      }
  // Ids of which the first is a mark, and then a 0 or half a pair.
  for (uint16_t second : {0, 0xd800, 0xdc00}) {
    writeFile("x.bin", bytesOfValues<uint16_t>({0xfeff, second, 7}));
    EXPECT_EQ(messageOf(path("x.bin"), 65536), "") << second;
  }
  writeFile("x.bin", bytesOfValues<uint16_t>({0xfeff, 65, 66}));
  EXPECT_EQ(messageOf("u16:" + path("x.bin"), 65536), "") << "stated";
}

TEST_F(TokenSourceTest, SaysHowToGiveAnArray) {
  auto header = [](const char *descr, const char *shape) {
    std::string literal =
        std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + "}\n";
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(literal.size()) + '\0' + literal;
  };
  writeFile("ids.npy", header("<u2", "(4,)") + std::string(8, '\1'));
  const std::string name = path("ids.npy");
  EXPECT_EQ(messageOf(name),
            "opening '" + name +
                "': it is a NumPy array of uint16 [4]; name the input that each array fills, with "
                "a sample a row: tokens=" +
                name + ",targets=PATH.npy; or write its ids with numpy.load('" + name +
                "').astype('<u4').tofile('ids.bin') and give u32:ids.bin");
  writeFile("ids.npy", header("<i8", "(1, 2)") + std::string(16, '\1'));
  EXPECT_NE(messageOf(name).find("int64 [1, 2]; name the input"), std::string::npos);
  EXPECT_NE(messageOf("u16:" + name).find("u16: is for plain ids"), std::string::npos);
}

TEST_F(TokenSourceTest, RefusesAFolderWithoutTokens) {
  writeFile("notes.md", "ignored");
  EXPECT_EQ(openTokens(folder, {}, source).message(),
            "opening folder '" + folder +
                "': it has no .bin and no .txt files; 'notes.md' is none of them; name a file to "
                "read it");
  writeFile("a.jsonl", "{\"text\": \"a\"}\n");
  EXPECT_NE(messageOf(folder).find("'a.jsonl' is JSON: make tokens of it: dtc data build"),
            std::string::npos);
  ASSERT_EQ(::mkdir(path("train").c_str(), 0700), 0);
  EXPECT_NE(messageOf(folder).find("it has the folders 'train', of which --data and --eval-data "
                                   "take one each"),
            std::string::npos);
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
  ASSERT_TRUE(open("\xc3\xa9t\xc3\xa9.txt", 256).ok());
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
  // The values were computed in Python with Philox4x32-10.
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

// Recognises what a file holds and opens it.
#include "runtime/data/TokenFile.h"

#include "runtime/base/Text.h"
#include "runtime/data/Content.h"
#include "runtime/data/LlmcHeader.h"
#include "runtime/data/Megatron.h"
#include "runtime/data/PlainIds.h"
#include "runtime/data/TokenArray.h"
#include "runtime/data/TokenPath.h"

#include <sys/stat.h>

namespace dtc::rt {
using format::text;

static bool endsWith(const std::string &path, std::string_view suffix) {
  return path.size() > suffix.size() && std::string_view(path).ends_with(suffix);
}
static bool isFile(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

namespace {
// The vocabularies of models whose tokens may be the bytes of a text: 256 values, and some special
// entries.
constexpr uint64_t kLeastOfBytes = 256, kMostOfBytes = 512;
} // namespace

// The number of tokens of an llm.c file is header word 2.
static Status openLlmc(InputFile file, TokenType type, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source) {
  int32_t header[3];
  const std::string &path = file.path();
  uint64_t bytes = file.size();
  if (bytes < llmc::kHeaderBytes)
    return Status::dataLoss(text("opening '", path, "': it has ", bytes,
                                 " bytes, less than an llm.c header of ", llmc::kHeaderBytes));
  DTC_RETURN_IF_ERROR(file.read(0, {reinterpret_cast<uint8_t *>(header), sizeof(header)}));
  int32_t version = type == TokenType::U16 ? llmc::kVersionU16 : llmc::kVersionU32;
  if (header[1] != version)
    return Status::invalidArgument(text("opening '", path, "': it is an llm.c file of version ",
                                        header[1], "; wanted ", version));
  if (header[2] < 0)
    return Status::dataLoss(text("opening '", path, "': its header says ", header[2], " tokens"));
  auto count = static_cast<uint64_t>(header[2]);
  uint64_t wanted = llmc::kHeaderBytes + count * bytesOf(type);
  if (bytes != wanted)
    return Status::dataLoss(text("opening '", path, "': it has ", bytes,
                                 " bytes, but its header's ", count,
                                 count == 1 ? " token makes " : " tokens make ", wanted));
  source = std::make_unique<TokenArray>(std::move(file), text("llm.c, ", idsOf(type)),
                                        llmc::kHeaderBytes, count, type, options.vocabulary);
  return Status::okStatus();
}

static void openBytes(InputFile file, const char *format, const TokenSourceOptions &options,
                      std::unique_ptr<TokenSource> &source) {
  uint64_t bytes = file.size();
  source = std::make_unique<TokenArray>(std::move(file), format, 0, bytes, TokenType::U8,
                                        options.vocabulary);
}

// Opens text, which is tokens only for a model whose vocabulary is that of bytes.
static Status openText(InputFile file, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source) {
  uint64_t vocabulary = options.vocabulary;
  bool isEmpty = file.size() == 0;
  if (!isEmpty && (vocabulary < kLeastOfBytes || vocabulary > kMostOfBytes))
    return Status::invalidArgument(text(
        "opening '", file.path(), "': it is text, and the model's tokens are not bytes: it has ",
        vocabulary ? text(vocabulary) : std::string("an unknown number of"),
        " vocabulary entries, not ", kLeastOfBytes, " to ", kMostOfBytes, "; ",
        tokenizeAdvice(file.path()), ", or write bytes:", file.path(),
        " to train on its bytes as they are"));
  openBytes(std::move(file), "text, 1 byte a token", options, source);
  return {};
}

// Ids of a stated width have no header: a file with one is another format.
static Status openStated(InputFile file, StatedFormat stated, const TokenSourceOptions &options,
                         std::unique_ptr<TokenSource> &source) {
  if (stated == StatedFormat::Bytes) {
    openBytes(std::move(file), "bytes, 1 a token", options, source);
    return {};
  }
  Content content;
  DTC_RETURN_IF_ERROR(recognise(file, content));
  if (content.kind == Content::Kind::LlmcU16 || content.kind == Content::Kind::LlmcU32)
    return Status::invalidArgument(text("opening '", file.path(), "': it has an llm.c header, and ",
                                        prefixOf(stated), " is for ids without one; write ",
                                        file.path()));
  if (content.kind == Content::Kind::Other)
    return Status::invalidArgument(text("opening '", file.path(), "': it is ", content.what,
                                        ", and ", prefixOf(stated), " is for plain ids; ",
                                        content.advice));
  return openPlainIds(std::move(file), stated, "", options, source);
}

// Opens X.bin by its content. Without a header it may be half of a Megatron data set.
static Status openBin(InputFile file, const Content &content, const TokenSourceOptions &options,
                      std::unique_ptr<TokenSource> &source) {
  const std::string path = file.path(), stem = path.substr(0, path.size() - 4);
  std::string index = stem + ".idx";
  constexpr uint64_t leastOfText = 64; // bytes: fewer may be text by chance
  if (content.kind == Content::Kind::Text && file.size() >= leastOfText)
    return Status::invalidArgument(text("opening '", path, "': it is text, and a .bin holds ids; ",
                                        tokenizeAdvice(path), ", or write bytes:", path,
                                        " to train on its bytes as they are"));
  if (endsWith(stem, "_document") || endsWith(stem, "_sentence"))
    return Status::notFound(text("opening '", path,
                                 "': a Megatron data set has its index beside it, and '", index,
                                 "' is missing; bring it here, or write u16:", path,
                                 " or u32:", path, ", by the bytes of an id"));
  return openPlainIds(std::move(file), StatedFormat::Any, index, options, source);
}

// The path of a Megatron data set names its two files, one of them, or what stands before .bin.
static Status openPair(const std::string &path, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source, bool &isPair) {
  bool bin = endsWith(path, ".bin"), idx = endsWith(path, ".idx");
  std::string stem = bin || idx ? path.substr(0, path.size() - 4) : path;
  bool hasBin = isFile(stem + ".bin"), hasIdx = isFile(stem + ".idx");
  isPair = true;
  if ((idx || !isFile(path)) && hasBin != hasIdx)
    return Status::notFound(text("opening '", path, "': '", stem, hasBin ? ".bin" : ".idx",
                                 "' is there and '", stem, hasBin ? ".idx" : ".bin",
                                 "' is missing; a Megatron data set needs both"));
  if (idx || (hasBin && hasIdx && (bin || !isFile(path))))
    return openMegatron(stem, options, source);
  isPair = false;
  return {};
}

Status openTokenFile(const TokenPath &given, const TokenSourceOptions &options,
                     std::unique_ptr<TokenSource> &source) {
  const std::string &path = given.path;
  InputFile file;
  if (given.stated != StatedFormat::Any) {
    DTC_RETURN_IF_ERROR(file.open(path));
    return openStated(std::move(file), given.stated, options, source);
  }
  bool isPair = false;
  DTC_RETURN_IF_ERROR(openPair(path, options, source, isPair));
  if (isPair)
    return {};
  DTC_RETURN_IF_ERROR(file.open(path));
  Content content;
  DTC_RETURN_IF_ERROR(recognise(file, content));
  switch (content.kind) {
  case Content::Kind::LlmcU16:
    return openLlmc(std::move(file), TokenType::U16, options, source);
  case Content::Kind::LlmcU32:
    return openLlmc(std::move(file), TokenType::U32, options, source);
  case Content::Kind::MegatronIndex:
    return Status::invalidArgument(text("opening '", path,
                                        "': it is a Megatron index; name it .idx, "
                                        "beside the .bin of the same name"));
  case Content::Kind::Stateable:
  case Content::Kind::Other:
    return Status::invalidArgument(
        text("opening '", path, "': it is ", content.what, "; ", content.advice));
  case Content::Kind::Empty:
  case Content::Kind::Text:
  case Content::Kind::Unknown:
    break;
  }
  if (endsWith(path, ".bin"))
    return openBin(std::move(file), content, options, source);
  // A file named .txt is text, in any encoding.
  if (content.kind != Content::Kind::Unknown || endsWith(path, ".txt"))
    return openText(std::move(file), options, source);
  return Status::invalidArgument(
      text("opening '", path,
           "': its format is unknown: it has no header of llm.c and is no text; "
           "write u16:",
           path, ", u32:", path, " or u64:", path,
           " where it holds ids, by the bytes of an id, or bytes:", path,
           " to train on its bytes as they are"));
}

} // namespace dtc::rt

// Token ids without a header: finds their width, and refuses one that the ids cannot have.
#include "runtime/data/PlainIds.h"

#include "runtime/base/Text.h"
#include "runtime/data/TokenArray.h"
#include "runtime/data/TokenPath.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace dtc::rt {
using format::text;

namespace {

constexpr uint64_t kMostOfTwoBytes = uint64_t(1) << 16; // vocabulary entries
constexpr size_t kSampleBytes = 16384;

// Returns 8 or 4 if the sample reads as ids of that many bytes and hardly as narrower ones: the
// upper half of each is 0, which no text in ids of 2 bytes has in every second place. Otherwise 2.
size_t likelyWidth(const std::vector<uint8_t> &sample) {
  constexpr size_t leastHalves = 8;
  size_t halves = sample.size() / 2;
  bool isZero[4] = {true, true, true, true}; // the halves at these places of each 8 bytes
  for (size_t i = 0; i < halves; ++i)
    isZero[i % 4] = isZero[i % 4] && sample[2 * i] == 0 && sample[2 * i + 1] == 0;
  if (halves < leastHalves || isZero[0])
    return 2;
  return isZero[2] && isZero[3] ? 8 : isZero[1] && isZero[3] ? 4 : 2;
}

// Returns true if every id of the sample, of `width` bytes, is in the vocabulary.
bool fitVocabulary(const std::vector<uint8_t> &sample, size_t width, uint64_t vocabulary) {
  for (size_t at = 0; at + width <= sample.size(); at += width) {
    uint64_t id = 0;
    std::memcpy(&id, sample.data() + at, width);
    if (id >= vocabulary)
      return false;
  }
  return true;
}

// Reads the beginning and the middle of `file`, as whole ids of any width.
Status readSample(const InputFile &file, std::vector<uint8_t> &sample) {
  uint64_t whole = file.size() / 8 * 8;
  if (file.size() <= kSampleBytes) {
    sample.resize(file.size());
    return file.read(0, sample);
  }
  sample.resize(kSampleBytes);
  constexpr size_t half = kSampleBytes / 2;
  DTC_RETURN_IF_ERROR(file.read(0, std::span(sample).first(half)));
  return file.read(std::min(whole / 16 * 8, whole - half), std::span(sample).subspan(half));
}

TokenType typeOf(size_t width) {
  return width == 2 ? TokenType::U16 : width == 4 ? TokenType::U32 : TokenType::I64;
}

// Returns advice such as "write u16:x.bin, u32:x.bin or u64:x.bin, ...".
std::string statingAdvice(const std::string &path, const std::string &missingIndex) {
  std::string advice =
      text("write u16:", path, ", u32:", path, " or u64:", path, ", by the bytes of an id");
  if (!missingIndex.empty())
    advice += text("; a Megatron data set has '", missingIndex, "' beside it, which is missing");
  return advice;
}

} // namespace

Status openPlainIds(InputFile file, StatedFormat stated, const std::string &missingIndex,
                    const TokenSourceOptions &options, std::unique_ptr<TokenSource> &source) {
  const std::string path = file.path();
  auto refuse = [&](const std::string &what) {
    return Status::invalidArgument(text("opening '", path, "': ", what));
  };
  uint64_t vocabulary = options.vocabulary;
  size_t width = stated == StatedFormat::U16   ? 2
                 : stated == StatedFormat::U32 ? 4
                 : stated == StatedFormat::U64 ? 8
                                               : 0;
  if (width == 2 && vocabulary > kMostOfTwoBytes)
    return refuse(text("ids of 2 bytes cannot reach the model's ", vocabulary,
                       " vocabulary entries; write u32:", path, ", or make the ids anew"));
  if (width == 0) {
    if (vocabulary == 0)
      return refuse(text("it has no header, and the model does not say how many vocabulary entries "
                         "it has, so the bytes of an id are unknown; ",
                         statingAdvice(path, missingIndex)));
    width = vocabulary > kMostOfTwoBytes ? 4 : 2;
    std::vector<uint8_t> sample;
    DTC_RETURN_IF_ERROR(readSample(file, sample));
    if (size_t likely = likelyWidth(sample); likely > width)
      return refuse(text("it has no header, and its ids seem to have ", likely, " bytes each, not ",
                         width, "; ", statingAdvice(path, missingIndex)));
    if (width == 4 && file.size() % 4 == 0 && !fitVocabulary(sample, width, vocabulary))
      return refuse(text("it has no header, and its ids are not of the 4 bytes that ", vocabulary,
                         " vocabulary entries take (some would be ", vocabulary,
                         " or more); make it of u32 ids, or ", statingAdvice(path, missingIndex)));
  }
  if (file.size() % width != 0)
    return Status::dataLoss(text("opening '", path, "': it has no header and ", file.size(),
                                 " bytes, which is not a whole number of ", width, "-byte ids; ",
                                 statingAdvice(path, missingIndex)));
  TokenType type = typeOf(width);
  uint64_t count = file.size() / width;
  source = std::make_unique<TokenArray>(std::move(file), text(idsOf(type), " without a header"), 0,
                                        count, type, vocabulary);
  return {};
}

} // namespace dtc::rt

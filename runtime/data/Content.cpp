#include "runtime/data/Content.h"

#include "runtime/base/Text.h"
#include "runtime/data/LlmcHeader.h"
#include "runtime/data/NpyHeader.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace dtc::rt {
using format::text;
using namespace std::string_view_literals;

namespace {

constexpr size_t kHeadBytes = 4096;

// A format that begins with `magic` at byte `at`.
struct KnownFormat {
  size_t at;
  std::string_view magic;
  const char *what;
  const char *advice; // what to do; 'FILE' stands for the path
};

constexpr const char *kPicture = "give pictures as an array for each input: NAME=FILE.npy";
constexpr const char *kWeights = "it holds no tokens; --init takes weights";
constexpr const char *kTokenize =
    "make tokens of it: dtc data build FILE --tokenizer tokenizer.json -o DIR";
constexpr const char *kTokenizeText = "take its text out and tokenize that: dtc data build TEXT "
                                      "--tokenizer tokenizer.json -o DIR";
constexpr const char *kArrays = "save each array with numpy.save and give NAME=FILE.npy for each "
                                "input of the model";

constexpr KnownFormat kFormats[] = {
    {0, "\x1f\x8b\x08"sv, "a gzip archive", "unpack it: gunzip FILE"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd archive", "unpack it: unzstd FILE"},
    {4, "1AY&SY"sv, "a bzip2 archive", "unpack it: bunzip2 FILE"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz archive", "unpack it: unxz FILE"},
    {0, "\x04\x22\x4d\x18"sv, "an lz4 archive", "unpack it: unlz4 FILE"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "unpack it: 7z x FILE"},
    {257, "ustar"sv, "a tar archive", "unpack it: tar -xf FILE"},
    {0, "PAR1"sv, "a Parquet file", kTokenize},
    {0, "ARROW1\0\0"sv, "an Arrow file", kTokenizeText},
    {0, "\xff\xff\xff\xff"sv, "an Arrow stream", kTokenizeText},
    {0, "Obj\x01"sv, "an Avro file", kTokenizeText},
    {0, "SQLite format 3\0"sv, "an SQLite database", kTokenizeText},
    {0, "%PDF-"sv, "a PDF document", kTokenizeText},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file", kArrays},
    {0, "\x89PNG\r\n\x1a\n"sv, "a PNG picture", kPicture},
    {0, "\xff\xd8\xff"sv, "a JPEG picture", kPicture},
    {0, "GIF87a"sv, "a GIF picture", kPicture},
    {0, "GIF89a"sv, "a GIF picture", kPicture},
    {0, "II*\0"sv, "a TIFF picture", kPicture},
    {0, "MM\0*"sv, "a TIFF picture", kPicture},
    {8, "WEBPVP8"sv, "a WebP picture", kPicture},
    {0, "GGUF"sv, "a GGUF file of weights", kWeights},
    {0,
     "\x7f"
     "ELF"sv,
     "a program", "give a file of tokens"},
    {0, "\x80\x04\x95"sv, "a Python pickle", kArrays},
    {0, "\x80\x05\x95"sv, "a Python pickle", kArrays},
};

// The files of llm.c that begin in the same way but hold no tokens to train on.
struct OtherLlmc {
  int32_t magic;
  const char *what;
};
constexpr OtherLlmc kOtherLlmc[] = {
    {20240522, "an llm.c evaluation file"},
    {20240326, "an llm.c model checkpoint"},
    {20240527, "an llm.c training state"},
    {20240328, "an llm.c tokenizer"},
};

Content other(std::string what, std::string advice) {
  return {Content::Kind::Other, std::move(what), std::move(advice)};
}

std::string replaceFile(std::string advice, const std::string &path) {
  if (size_t at = advice.find("FILE");
      (advice.starts_with("unpack") || advice.starts_with("make")) && at != std::string::npos)
    advice.replace(at, 4, text("'", path, "'"));
  return advice;
}

// A zip archive holds arrays of NumPy, a checkpoint of PyTorch, or anything else.
Content describeZip(std::string_view head, const std::string &path) {
  uint16_t length = 0;
  if (head.size() >= 30)
    std::memcpy(&length, head.data() + 26, sizeof(length));
  std::string_view first = head.substr(std::min<size_t>(head.size(), 30), length);
  if (first.ends_with(".npy"))
    return other("a NumPy archive (.npz)", kArrays);
  if (first.ends_with("data.pkl"))
    return other("a PyTorch file", kArrays);
  return other("a zip archive", text("unpack it: unzip '", path, "'"));
}

Content describeNpy(const InputFile &file) {
  const std::string &path = file.path();
  NpyHeader header;
  if (Status status = readNpyHeader(file, header); !status.ok())
    return other("a NumPy array (.npy)", "name the input that it fills: NAME=FILE.npy");
  std::string sizes;
  for (uint64_t size : header.shape)
    sizes += text(sizes.empty() ? "" : ", ", size);
  std::string advice =
      text("name the input that each array fills, with a sample a row: tokens=", path,
           ",targets=PATH.npy");
  // Ids of 4 bytes fit any vocabulary.
  if (header.shape.size() == 1)
    advice += text("; or write its ids with numpy.load('", path,
                   "').astype('<u4').tofile('ids.bin') and give u32:ids.bin");
  return other(text("a NumPy array of ", nameOf(header.type), " [", sizes, "]"), advice);
}

// Recognises the u64 length of a JSON object, which follows.
bool isSafetensors(std::string_view head, uint64_t fileBytes) {
  uint64_t length = 0;
  if (head.size() < 10)
    return false;
  std::memcpy(&length, head.data(), sizeof(length));
  return length >= 2 && length <= fileBytes - 8 && head[8] == '{';
}

size_t skipSpaces(std::string_view head, size_t at) {
  while (at < head.size() &&
         (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t'))
    ++at;
  return at;
}

// Recognises JSON or JSON lines: an object, or a list of objects, lists, strings or numbers.
bool isJson(std::string_view head) {
  size_t at = skipSpaces(head, 0);
  if (at == head.size())
    return false;
  size_t next = skipSpaces(head, at + 1);
  char second = next < head.size() ? head[next] : '\0';
  if (head[at] == '{')
    return second == '"' || second == '}';
  if (head[at] != '[')
    return false;
  size_t digits = next;
  while (digits < head.size() &&
         ((head[digits] >= '0' && head[digits] <= '9') || head[digits] == '-'))
    ++digits;
  size_t after = skipSpaces(head, digits);
  return second == '{' || second == '[' || second == '"' ||
         (digits > next && after < head.size() && head[after] == ',');
}

// Returns true if `head` is UTF-8 without a NUL. The last character may be cut off if `isCut`.
bool isText(std::string_view head, bool isCut) {
  for (size_t at = 0; at < head.size();) {
    auto lead = static_cast<unsigned char>(head[at]);
    size_t length = lead == 0     ? 0
                    : lead < 0x80 ? 1
                    : lead < 0xc2 ? 0
                    : lead < 0xe0 ? 2
                    : lead < 0xf0 ? 3
                    : lead < 0xf5 ? 4
                                  : 0;
    if (length == 0)
      return false;
    for (size_t i = 1; i < length; ++i) {
      if (at + i >= head.size())
        return isCut;
      if ((static_cast<unsigned char>(head[at + i]) & 0xc0) != 0x80)
        return false;
    }
    at += length;
  }
  return true;
}

// Recognises text in UTF-16 or UTF-32 by its byte order mark, which a file of 2-byte ids may begin
// with, too: so all that follows in `head` must be text: no NUL, and surrogates in pairs.
const char *wideEncoding(std::string_view head) {
  if (head.starts_with("\xff\xfe\0\0"sv) || head.starts_with("\0\0\xfe\xff"sv))
    return head.size() % 4 == 0 ? "UTF-32" : nullptr;
  bool isLittle = head.starts_with("\xff\xfe"sv);
  if ((!isLittle && !head.starts_with("\xfe\xff"sv)) || head.size() % 2 != 0)
    return nullptr;
  bool expectsLow = false; // a high surrogate came before
  for (size_t at = 2; at < head.size(); at += 2) {
    auto first = static_cast<unsigned char>(head[at]),
         second = static_cast<unsigned char>(head[at + 1]);
    unsigned upper = isLittle ? second : first, unit = upper << 8 | (isLittle ? first : second);
    bool isLow = upper >= 0xdc && upper < 0xe0;
    if (unit == 0 || isLow != expectsLow)
      return nullptr;
    expectsLow = upper >= 0xd8 && upper < 0xdc;
  }
  return "UTF-16";
}

} // namespace

std::string tokenizeAdvice(const std::string &path) {
  std::string advice = kTokenize;
  return advice.replace(advice.find("FILE"), 4, text("'", path, "'"));
}

Status recognise(const InputFile &file, Content &content) {
  std::vector<uint8_t> bytes(std::min<uint64_t>(file.size(), kHeadBytes));
  DTC_RETURN_IF_ERROR(file.read(0, bytes));
  std::string_view head(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  content = {};
  int32_t magic = 0;
  if (head.size() >= sizeof(magic))
    std::memcpy(&magic, head.data(), sizeof(magic));
  if (head.empty())
    content.kind = Content::Kind::Empty;
  else if (magic == llmc::kMagicU16)
    content.kind = Content::Kind::LlmcU16;
  else if (magic == llmc::kMagicU32)
    content.kind = Content::Kind::LlmcU32;
  else if (head.starts_with("MMIDIDX\0\0"sv))
    content.kind = Content::Kind::MegatronIndex;
  else if (head.starts_with("\x93NUMPY"sv))
    content = describeNpy(file);
  else if (head.starts_with("PK\x03\x04"sv))
    content = describeZip(head, file.path());
  else if (isSafetensors(head, file.size()))
    content = other("a safetensors file of weights", kWeights);
  else if (isText(head, file.size() > head.size()))
    content.kind = Content::Kind::Text;
  if (content.kind == Content::Kind::Text && isJson(head))
    content = {Content::Kind::Stateable, "JSON",
               text(tokenizeAdvice(file.path()), ", or write bytes:", file.path(),
                    " to train on its bytes as they are")};
  if (const char *encoding = wideEncoding(head))
    content = {Content::Kind::Stateable, text("text in ", encoding),
               text("convert it: iconv -f ", encoding, " -t UTF-8 '", file.path(),
                    "' > text.txt, or write bytes:", file.path(),
                    " to train on its bytes as they are")};
  for (const OtherLlmc &each : kOtherLlmc)
    if (magic == each.magic)
      content = other(each.what, "wanted token data");
  for (const KnownFormat &each : kFormats)
    if (!content.isRefused() && head.size() > each.at &&
        head.substr(each.at).starts_with(each.magic))
      content = other(each.what, replaceFile(each.advice, file.path()));
  return {};
}

} // namespace dtc::rt

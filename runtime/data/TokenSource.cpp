// Finds out what a path holds and opens it.
#include "runtime/data/TokenSource.h"

#include "runtime/base/Text.h"
#include "runtime/data/Formats.h"
#include "runtime/data/TokenArray.h"

#include <algorithm>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <vector>

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
constexpr size_t kHeaderWords = 256, kHeaderBytes = kHeaderWords * 4;

// Files of llm.c that start alike but hold no tokens for training, or another version.
struct KnownMagic {
  int32_t magic;
  const char *what;
};
constexpr KnownMagic otherFiles[] = {
    {20240522, "an llm.c evaluation file"},
    {20240326, "an llm.c model checkpoint"},
    {20240527, "an llm.c training state"},
    {20240328, "an llm.c tokenizer"},
};
constexpr int32_t kMagicU16 = 20240520, kVersionU16 = 1; // GPT-2
constexpr int32_t kMagicU32 = 20240801, kVersionU32 = 7; // Llama 3
} // namespace

// The number of tokens of an llm.c file is header word 2.
static Status openLlmc(InputFile file, TokenType type, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source) {
  int32_t header[3];
  const std::string &path = file.path();
  uint64_t bytes = file.size();
  if (bytes < kHeaderBytes)
    return Status::dataLoss(text("opening '", path, "': it has ", bytes,
                                 " bytes, less than an llm.c header of ", kHeaderBytes));
  DTC_RETURN_IF_ERROR(file.read(0, {reinterpret_cast<uint8_t *>(header), sizeof(header)}));
  int32_t version = type == TokenType::U16 ? kVersionU16 : kVersionU32;
  if (header[1] != version)
    return Status::invalidArgument(text("opening '", path, "': it is an llm.c file of version ",
                                        header[1], "; wanted ", version));
  if (header[2] < 0)
    return Status::dataLoss(text("opening '", path, "': its header says ", header[2], " tokens"));
  auto count = static_cast<uint64_t>(header[2]);
  uint64_t wanted = kHeaderBytes + count * bytesOf(type);
  if (bytes != wanted)
    return Status::dataLoss(text("opening '", path, "': it has ", bytes,
                                 " bytes, but its header's ", count, " tokens make ", wanted));
  source =
      std::make_unique<TokenArray>(std::move(file), kHeaderBytes, count, type, options.vocabulary);
  return Status::okStatus();
}

static Status openBin(InputFile file, const TokenSourceOptions &options,
                      std::unique_ptr<TokenSource> &source) {
  const std::string &path = file.path();
  uint64_t bytes = file.size();
  int32_t magic = 0;
  if (bytes >= sizeof(magic))
    DTC_RETURN_IF_ERROR(file.read(0, {reinterpret_cast<uint8_t *>(&magic), sizeof(magic)}));
  if (magic == kMagicU16 || magic == kMagicU32)
    return openLlmc(std::move(file), magic == kMagicU16 ? TokenType::U16 : TokenType::U32, options,
                    source);
  for (const KnownMagic &other : otherFiles)
    if (magic == other.magic)
      return Status::invalidArgument(
          text("opening '", path, "': it is ", other.what, "; wanted token data"));
  if (bytes % 2 != 0)
    return Status::dataLoss(text("opening '", path, "': it has no llm.c header and ", bytes,
                                 " bytes; uint16 tokens need an even number"));
  source = std::make_unique<TokenArray>(std::move(file), 0, bytes / 2, TokenType::U16,
                                        options.vocabulary);
  return Status::okStatus();
}

Status openTokenFile(const std::string &path, const TokenSourceOptions &options,
                     std::unique_ptr<TokenSource> &source) {
  bool bin = endsWith(path, ".bin"), idx = endsWith(path, ".idx");
  std::string stem = bin || idx ? path.substr(0, path.size() - 4) : path;
  bool isPair = isFile(stem + ".idx") && isFile(stem + ".bin");
  if (idx || (bin && isPair) || (!bin && isPair && !isFile(path)))
    return openMegatron(stem, options, source);
  InputFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  if (bin)
    return openBin(std::move(file), options, source);
  uint64_t bytes = file.size();
  source =
      std::make_unique<TokenArray>(std::move(file), 0, bytes, TokenType::U8, options.vocabulary);
  return Status::okStatus();
}

namespace {
// Several sources, one after the other.
class Concatenation final : public TokenSource {
public:
  Concatenation(std::string name, std::vector<std::unique_ptr<TokenSource>> parts)
      : folder(std::move(name)), parts(std::move(parts)) {
    for (const auto &part : this->parts)
      ends.push_back((ends.empty() ? 0 : ends.back()) + part->size());
  }
  const std::string &name() const override { return folder; }
  uint64_t size() const override { return ends.back(); }

  Status read(uint64_t begin, std::span<int32_t> out) const override {
    DTC_RETURN_IF_ERROR(checkRange(begin, out.size(), size(), folder));
    auto part =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    while (!out.empty()) {
      uint64_t first = begin - (part ? ends[part - 1] : 0);
      uint64_t count = std::min<uint64_t>(out.size(), ends[part] - begin);
      DTC_RETURN_IF_ERROR(parts[part]->read(first, out.first(count)));
      out = out.subspan(count);
      begin += count;
      ++part;
    }
    return Status::okStatus();
  }

private:
  std::string folder;
  std::vector<std::unique_ptr<TokenSource>> parts;
  std::vector<uint64_t> ends; // total tokens up to and with each part
};
} // namespace

// The .bin and .txt files of `folder`, sorted by the bytes of their names.
static Status listFolder(const std::string &folder, std::vector<std::string> &paths) {
  DIR *opened = ::opendir(folder.c_str());
  if (!opened)
    return Status::invalidArgument(text("opening folder '", folder, "': it cannot be read"));
  while (const dirent *entry = ::readdir(opened)) {
    std::string name = entry->d_name;
    std::string path = text(folder, folder.ends_with('/') ? "" : "/", name);
    if (name.front() != '.' && (endsWith(name, ".bin") || endsWith(name, ".txt")) && isFile(path))
      paths.push_back(std::move(path));
  }
  ::closedir(opened);
  std::sort(paths.begin(), paths.end());
  if (paths.empty())
    return Status::notFound(
        text("opening folder '", folder, "': it has no .bin and no .txt files"));
  return Status::okStatus();
}

Status openTokenFolder(const std::string &path, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source) {
  std::vector<std::string> paths;
  DTC_RETURN_IF_ERROR(listFolder(path, paths));
  std::vector<std::unique_ptr<TokenSource>> parts;
  for (const std::string &file : paths) {
    std::unique_ptr<TokenSource> part;
    DTC_RETURN_IF_ERROR(openTokenFile(file, options, part));
    parts.push_back(std::move(part));
  }
  source = std::make_unique<Concatenation>(path, std::move(parts));
  return Status::okStatus();
}

Status openTokens(const std::string &path, const TokenSourceOptions &options,
                  std::unique_ptr<TokenSource> &source) {
  if (path == "synthetic") {
    constexpr uint64_t most = 1u << 31;
    if (options.vocabulary == 0 || options.vocabulary > most)
      return Status::invalidArgument(text("making synthetic tokens: the vocabulary size is ",
                                          options.vocabulary, "; wanted 1 to ", most));
    source = makeSyntheticTokens(options);
    return Status::okStatus();
  }
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return openTokenFolder(path, options, source);
  return openTokenFile(path, options, source);
}

} // namespace dtc::rt

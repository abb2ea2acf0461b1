// Reads dataset.json of `dtc data build` without trusting it. python/dtc_data/shards.py writes it.
//
//   {"schema": "dtc.data/1", "id_bytes": 2, "block_bytes": 65536, "vocabulary": 32000,
//    "shards": [{"file": "tokens-00000.bin", "tokens": 1000, "crc_of_hashes": 123, ...}, ...], ...}
#include "runtime/data/BuiltFolder.h"

#include "runtime/base/Checked.h"
#include "runtime/base/NestingDepth.h"
#include "runtime/base/Text.h"
#include "runtime/data/CheckedTokens.h"
#include "runtime/data/Concatenation.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sys/stat.h>

namespace dtc::rt {
namespace {

using format::text;
using Json = nlohmann::json;

constexpr const char *kDescription = "dataset.json";
constexpr const char *kUnfinished = "building.json"; // while the folder is being written
constexpr const char *kSchema = "dtc.data/1";
constexpr int kMostDepth = 8;
// Models have more entries than their tokenizers where these are padded: by a few thousand, or by
// an eighth.
constexpr uint64_t kMostPadding = 4096;

struct Shard {
  std::string file;
  uint64_t tokens = 0, crcOfHashes = 0;
};

struct Description {
  uint64_t idBytes = 0, blockBytes = 0, vocabulary = 0;
  std::vector<Shard> shards;
};

std::string inFolder(const std::string &folder, const std::string &name) {
  return text(folder, folder.ends_with('/') ? "" : "/", name);
}

Status notAsWritten(const std::string &path, const std::string &what) {
  return Status::dataLoss(text("reading '", path, "': ", what));
}

Status number(const Json &from, const char *key, const std::string &path, uint64_t &value) {
  auto at = from.find(key);
  if (at == from.end() || !at->is_number_unsigned())
    return notAsWritten(path, text("'", key, "' is no whole number of 0 or more"));
  value = at->get<uint64_t>();
  return {};
}

Status readShard(const Json &from, const std::string &path, Shard &shard) {
  auto file = from.find("file");
  if (file == from.end() || !file->is_string())
    return notAsWritten(path, "a shard has no 'file'");
  shard.file = file->get<std::string>();
  if (shard.file.find('/') != std::string::npos || !shard.file.ends_with(".bin"))
    return notAsWritten(path, text("'", shard.file, "' is no name of a shard"));
  DTC_RETURN_IF_ERROR(number(from, "tokens", path, shard.tokens));
  return number(from, "crc_of_hashes", path, shard.crcOfHashes);
}

Status readDescription(const std::string &path, Description &found) {
  InputFile file;
  std::vector<uint8_t> bytes;
  DTC_RETURN_IF_ERROR(file.open(path));
  DTC_RETURN_IF_ERROR(file.readAll(bytes));
  std::string_view json(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (nestsDeeperThan(json, kMostDepth))
    return notAsWritten(path, "its brackets nest too deep");
  Json root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    return notAsWritten(path, "it is no JSON object");
  if (auto schema = root.find("schema"); schema == root.end() || *schema != kSchema)
    return notAsWritten(path, text("it has not the schema ", kSchema));
  DTC_RETURN_IF_ERROR(number(root, "id_bytes", path, found.idBytes));
  DTC_RETURN_IF_ERROR(number(root, "block_bytes", path, found.blockBytes));
  DTC_RETURN_IF_ERROR(number(root, "vocabulary", path, found.vocabulary));
  constexpr uint64_t mostBlock = uint64_t(1) << 30;
  if ((found.idBytes != 2 && found.idBytes != 4) || found.blockBytes == 0 ||
      found.blockBytes > mostBlock)
    return notAsWritten(path,
                        text("ids of ", found.idBytes, " bytes in blocks of ", found.blockBytes));
  auto shards = root.find("shards");
  if (shards == root.end() || !shards->is_array() || shards->empty())
    return notAsWritten(path, "it names no shards: the folder holds no tokens");
  for (const Json &each : *shards) {
    if (!each.is_object())
      return notAsWritten(path, "a shard is no object");
    DTC_RETURN_IF_ERROR(readShard(each, path, found.shards.emplace_back()));
  }
  return {};
}

Status checkVocabulary(const std::string &folder, uint64_t tokenizer, uint64_t model) {
  if (model == 0 || (tokenizer <= model && model - tokenizer <= std::max(kMostPadding, model / 8)))
    return {};
  return Status::invalidArgument(
      text("opening '", folder, "': its tokenizer has ", tokenizer, " entries and the model ",
           model, "; build it with the model's tokenizer, or write u16:", folder,
           " or u32:", folder, " to take its ids as they are"));
}

Status openShard(const std::string &folder, const Shard &shard, const Description &found,
                 uint64_t vocabulary, std::unique_ptr<TokenSource> &source) {
  std::string path = inFolder(folder, shard.file);
  CheckedTokens::Files files;
  files.blockBytes = found.blockBytes;
  DTC_RETURN_IF_ERROR(files.ids.open(path));
  DTC_RETURN_IF_ERROR(files.blocks.open(path));
  DTC_RETURN_IF_ERROR(files.hashes.open(path.substr(0, path.size() - 4) + ".crc"));
  format::Checked bytes = format::Checked(shard.tokens) * found.idBytes;
  if (!bytes.ok() || files.ids.size() != bytes.value())
    return notAsWritten(path, text("it has ", files.ids.size(), " bytes, and ", kDescription,
                                   " says ", shard.tokens, " tokens of ", found.idBytes));
  uint64_t blocks = (files.ids.size() + found.blockBytes - 1) / found.blockBytes;
  uint32_t crc = 0;
  DTC_RETURN_IF_ERROR(crcOfFile(files.hashes, crc));
  if (files.hashes.size() != blocks * sizeof(crc) || crc != shard.crcOfHashes)
    return notAsWritten(files.hashes.path(),
                        text("it is damaged: its hash is another than ", kDescription, " says"));
  TokenType type = found.idBytes == 2 ? TokenType::U16 : TokenType::I32;
  source = std::make_unique<CheckedTokens>(std::move(files), text("dtc data, ", idsOf(type)),
                                           shard.tokens, type, vocabulary);
  return {};
}

bool hasFile(const std::string &folder, const char *name) {
  struct stat info;
  return ::stat(inFolder(folder, name).c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

} // namespace

bool isBuiltFolder(const std::string &folder) {
  return hasFile(folder, kDescription) || hasFile(folder, kUnfinished);
}

Status openBuiltFolder(const std::string &folder, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source) {
  if (hasFile(folder, kUnfinished))
    return Status::invalidArgument(text("opening '", folder,
                                        "': it is not finished; the 'dtc data build' that began it "
                                        "goes on where it stopped when it is called again"));
  Description found;
  DTC_RETURN_IF_ERROR(readDescription(inFolder(folder, kDescription), found));
  DTC_RETURN_IF_ERROR(checkVocabulary(folder, found.vocabulary, options.vocabulary));
  DataOrigin origin;
  std::vector<std::unique_ptr<TokenSource>> parts;
  for (const Shard &shard : found.shards) {
    DTC_RETURN_IF_ERROR(openShard(folder, shard, found, options.vocabulary, parts.emplace_back()));
    origin.files.push_back(inFolder(folder, shard.file));
  }
  origin.format = parts.front()->origin().format;
  source = std::make_unique<Concatenation>(folder, std::move(origin), std::move(parts));
  return {};
}

} // namespace dtc::rt

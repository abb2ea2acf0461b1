// Writes the parameters of a checkpoint as a Hugging Face folder.
#include "runtime/checkpoint/HuggingFaceExport.h"

#include "runtime/base/File.h"
#include "runtime/base/NestingDepth.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/FolderFiles.h"
#include "runtime/checkpoint/MatchWeights.h"
#include "runtime/checkpoint/SafetensorsRead.h"
#include "runtime/checkpoint/SafetensorsWrite.h"
#include "runtime/checkpoint/WeightFiles.h"
#include "runtime/checkpoint/WrittenWeights.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>

namespace dtc::rt {
namespace {

using format::text;
using Json = nlohmann::ordered_json;

constexpr const char *kModelFiles[] = {"tokenizer.json",
                                       "tokenizer_config.json",
                                       "special_tokens_map.json",
                                       "added_tokens.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "tokenizer.model",
                                       "chat_template.jinja",
                                       "generation_config.json"};
constexpr const char *kTied = "tie_word_embeddings";
constexpr size_t kMostConfigBytes = size_t(1) << 20;
constexpr int kMostConfigLevels = 16;

// A tensor of a file: a parameter, or its part if the parameter stands for several.
struct Exported {
  std::string name;
  std::vector<uint64_t> shape;
  const CheckpointTensor *from = nullptr;
  uint64_t firstByte = 0, bytes = 0; // range in the parameter
  bool isCopy = false;               // under another name of a tied parameter
};

class Exporter {
public:
  Exporter(CheckpointReader &reader, const std::string &folder, uint64_t mostBytes)
      : reader(reader), folder(folder), mostBytes(mostBytes) {}

  Status run(const ModelFiles &files, WrittenWeights &written);

private:
  Status list(const std::map<std::string, std::string> &tied);
  void divide();
  Status completeConfig(const ModelFiles &files, std::string &words) const;
  Status makeFolder();
  Status writeAll(const std::string &config, const std::string &from);
  Status copyFiles(const std::string &from);
  Status writeFiles();
  Status writeTensor(const Exported &tensor, SafetensorsWriter &file);
  std::string fileName(size_t number) const;
  std::string indexJson() const;

  CheckpointReader &reader;
  std::string folder;
  uint64_t mostBytes;
  std::string writing; // the folder's name until it is whole
  std::vector<Exported> tensors;
  std::vector<size_t> fileBegins; // indices of tensors
  uint64_t allBytes = 0;
  std::vector<std::string> copied;
  const CheckpointTensor *loaded = nullptr; // tensor whose bytes are `whole`
  std::vector<std::byte> whole;
};

// Lists the tensors of the files; a copy of each that is `tied`, other name to name, comes right
// behind it.
Status Exporter::list(const std::map<std::string, std::string> &tied) {
  std::multimap<std::string, std::string> others;
  for (const auto &[other, name] : tied) {
    const CheckpointTensor *tensor = reader.manifest().find(name);
    if (!tensor || !tensor->isParameter || reader.manifest().find(other))
      return Status::dataLoss(
          text("the checkpoint has no '", name, "' beside which '", other, "' could be written"));
    others.emplace(name, other);
  }
  for (const CheckpointTensor &tensor : reader.manifest().tensors) {
    if (!tensor.isParameter)
      continue;
    uint64_t bytes = elementCount(tensor.shape) * tensor.width();
    allBytes += bytes;
    bool isSeveral =
        bytes > 0 && tensor.name.find('*') != std::string::npos && !tensor.storedShape.empty();
    uint64_t count = isSeveral ? tensor.storedShape.front() : 1;
    for (uint64_t i = 0; i < count; ++i) {
      std::vector<uint64_t> shape = tensor.storedShape;
      if (isSeveral)
        shape.erase(shape.begin());
      tensors.push_back({memberOf(tensor.name, i), std::move(shape), &tensor, i * (bytes / count),
                         bytes / count});
    }
    auto [begin, end] = others.equal_range(tensor.name);
    for (auto other = begin; other != end; ++other) {
      tensors.push_back({other->second, tensor.storedShape, &tensor, 0, bytes, /*isCopy=*/true});
      allBytes += bytes;
    }
  }
  return {};
}

void Exporter::divide() {
  uint64_t inFile = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i == 0 || inFile + tensors[i].bytes > mostBytes) {
      fileBegins.push_back(i);
      inFile = 0;
    }
    inFile += tensors[i].bytes;
  }
}

std::string Exporter::fileName(size_t number) const {
  if (fileBegins.size() == 1)
    return kWeightsFile;
  char name[80];
  std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", number + 1,
                fileBegins.size());
  return name;
}

// Returns transformers' name of the dtype of all parameters, or of the widest.
const char *dtypeName(const std::vector<Exported> &tensors) {
  auto allAre = [&](const char *dtype) {
    return std::all_of(tensors.begin(), tensors.end(),
                       [&](const Exported &tensor) { return tensor.from->dtype == dtype; });
  };
  return allAre("BF16") ? "bfloat16" : allAre("F16") ? "float16" : "float32";
}

// Returns the place behind the JSON string that begins at `at`.
size_t endOfString(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at)
    at += json[at] == '\\';
  return std::min(at + 1, json.size());
}

// Returns the text of a JSON object in which the values of its own keys "dtype" and "torch_dtype"
// are `dtype`, where they were strings or null. All other bytes are kept.
std::string withDtype(std::string_view json, const std::string &dtype) {
  constexpr const char *spaces = " \t\r\n";
  std::string out;
  int depth = 0;
  size_t copied = 0; // bytes of `json` that `out` has
  for (size_t at = 0; at < json.size();) {
    char c = json[at];
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    size_t end = c == '"' ? endOfString(json, at) : at + 1;
    std::string_view token = json.substr(at, end - at);
    bool isDtype = depth == 1 && (token == "\"dtype\"" || token == "\"torch_dtype\"");
    size_t colon = isDtype ? json.find_first_not_of(spaces, end) : std::string_view::npos;
    if (colon != std::string_view::npos && json[colon] == ':') {
      size_t value = std::min(json.find_first_not_of(spaces, colon + 1), json.size());
      std::string_view rest = json.substr(value);
      size_t behind = rest.starts_with('"')      ? endOfString(json, value)
                      : rest.starts_with("null") ? value + 4
                                                 : value;
      if (behind > value) {
        out += text(json.substr(copied, value - copied), "\"", dtype, "\"");
        copied = behind;
      }
      end = behind;
    }
    at = end;
  }
  return out.append(json.substr(copied));
}

Status Exporter::completeConfig(const ModelFiles &files, std::string &words) const {
  const std::string &config = files.config;
  if (config.empty())
    return {};
  if (config.size() > kMostConfigBytes || nestsDeeperThan(config, kMostConfigLevels))
    return Status::dataLoss(text("the config of '", reader.folder(),
                                 "' is larger, or nests deeper, than one of a model does"));
  Json root = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object())
    return Status::dataLoss(text("the config of '", reader.folder(), "' is no JSON object"));
  if (!files.isKnown) {
    words = withDtype(config, dtypeName(tensors));
    return {};
  }
  if (!root.contains("architectures") && !files.architecture.empty())
    root["architectures"] = {files.architecture};
  // transformers 5 writes "dtype" and reads both.
  root[root.contains("dtype") ? "dtype" : "torch_dtype"] = dtypeName(tensors);
  bool hasHead = std::any_of(tensors.begin(), tensors.end(),
                             [](const Exported &tensor) { return isOutputLayer(tensor.name); });
  root[kTied] = !hasHead;
  words = root.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
  return {};
}

Status Exporter::makeFolder() {
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  std::vector<std::string> names;
  DTC_RETURN_IF_ERROR(namesIn(folder, names));
  if (!names.empty())
    return Status::invalidArgument(text(
        "writing '", folder, "': it is there and not empty; name another folder, or remove it"));
  // Writes beside the folder, under a name that the next attempt finds.
  size_t slash = folder.rfind('/');
  size_t at = slash == std::string::npos ? 0 : slash + 1;
  writing = text(folder.substr(0, at), ".writing-", folder.substr(at));
  removeFolder(writing);
  return ::mkdir(writing.c_str(), 0777) == 0 ? Status() : folderError("making the folder", writing);
}

Status Exporter::writeTensor(const Exported &tensor, SafetensorsWriter &file) {
  if (loaded != tensor.from) {
    const CheckpointTensor &from = *tensor.from;
    ShardBox all;
    all.begin = all.local = std::vector<uint64_t>(from.shape.size());
    all.extent = from.shape;
    whole.resize(elementCount(from.shape) * from.width());
    loaded = nullptr;
    if (!whole.empty())
      DTC_RETURN_IF_ERROR(reader.read(from, {&all, 1}, from.shape, whole));
    loaded = tensor.from;
  }
  return file.writeBytes(std::span(whole).subspan(tensor.firstByte, tensor.bytes));
}

Status Exporter::writeFiles() {
  for (size_t i = 0; i < fileBegins.size(); ++i) {
    size_t end = i + 1 < fileBegins.size() ? fileBegins[i + 1] : tensors.size();
    std::span<const Exported> mine = std::span(tensors).subspan(fileBegins[i], end - fileBegins[i]);
    std::vector<SafetensorsTensor> entries;
    std::map<std::string, std::string> metadata{{"format", "pt"}};
    for (const Exported &tensor : mine) {
      entries.push_back({tensor.name, tensor.shape, tensor.from->dtype});
      if (tensor.isCopy) // as safetensors' save_model says it
        metadata.emplace(tensor.name, tensor.from->name);
    }
    SafetensorsWriter file;
    DTC_RETURN_IF_ERROR(file.open(text(writing, "/", fileName(i)), entries, metadata));
    for (const Exported &tensor : mine)
      DTC_RETURN_IF_ERROR(writeTensor(tensor, file));
    DTC_RETURN_IF_ERROR(file.finish());
  }
  return {};
}

std::string Exporter::indexJson() const {
  Json root = {{"metadata", {{"total_size", allBytes}}}, {"weight_map", Json::object()}};
  for (size_t i = 0, file = 0; i < tensors.size(); ++i) {
    while (file + 1 < fileBegins.size() && i >= fileBegins[file + 1])
      ++file;
    root["weight_map"][tensors[i].name] = fileName(file);
  }
  return root.dump(2) + "\n";
}

Status Exporter::copyFiles(const std::string &from) {
  constexpr uint64_t kMostBytes = uint64_t(1) << 30;
  for (const char *name : kModelFiles) {
    std::string path = text(from, "/", name), words;
    struct stat info;
    if (from.empty() || ::stat(path.c_str(), &info) != 0)
      continue;
    DTC_RETURN_IF_ERROR(readWhole(path, kMostBytes, words));
    DTC_RETURN_IF_ERROR(writeFile(text(writing, "/", name), words));
    copied.emplace_back(name);
  }
  return {};
}

Status Exporter::writeAll(const std::string &config, const std::string &from) {
  DTC_RETURN_IF_ERROR(writeFiles());
  if (fileBegins.size() > 1)
    DTC_RETURN_IF_ERROR(writeFile(text(writing, "/", kWeightsIndex), indexJson()));
  if (!config.empty())
    DTC_RETURN_IF_ERROR(writeFile(text(writing, "/config.json"), config));
  DTC_RETURN_IF_ERROR(copyFiles(from));
  DTC_RETURN_IF_ERROR(syncFolder(writing));
  // Replaces an empty folder of that name.
  if (std::rename(writing.c_str(), folder.c_str()) != 0)
    return folderError("naming the folder", folder);
  size_t slash = folder.rfind('/');
  return syncFolder(slash == std::string::npos ? "." : folder.substr(0, slash + 1));
}

Status Exporter::run(const ModelFiles &files, WrittenWeights &written) {
  std::map<std::string, std::string> tied;
  if (files.config.empty())
    tied = otherNames(reader.manifest().config);
  DTC_RETURN_IF_ERROR(list(tied));
  if (tensors.empty())
    return Status::dataLoss(text("'", reader.folder(), "' has no parameters"));
  divide();
  std::string words;
  DTC_RETURN_IF_ERROR(completeConfig(files, words));
  DTC_RETURN_IF_ERROR(makeFolder());
  Status status = writeAll(words, files.folder);
  if (!status.ok()) {
    removeFolder(writing);
    return status;
  }
  written = {tensors.size(), fileBegins.size(), allBytes, std::move(copied)};
  return {};
}

} // namespace

std::map<std::string, std::string> otherNames(const std::string &config) {
  std::map<std::string, std::string> names;
  if (config.size() > kMostConfigBytes || nestsDeeperThan(config, kMostConfigLevels))
    return names;
  Json root = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || root.size() != 1 || !root.contains("tied") || !root["tied"].is_object())
    return names;
  for (const auto &[other, name] : root["tied"].items())
    if (name.is_string())
      names.emplace(other, name.get<std::string>());
  return names;
}

Status exportHuggingFace(CheckpointReader &reader, const ModelFiles &files,
                         const std::string &folder, uint64_t mostBytes, WrittenWeights &written) {
  return Exporter(reader, folder, mostBytes).run(files, written);
}

Status checkSameTensors(const CheckpointReader &reader, const std::string &folder) {
  struct stat info;
  bool hasWeights = false;
  for (const char *name : {kWeightsFile, kWeightsIndex})
    hasWeights |= ::stat(text(folder, "/", name).c_str(), &info) == 0;
  if (!hasWeights)
    return {};
  std::vector<TensorSpec> specs;
  for (const CheckpointTensor &tensor : reader.manifest().tensors) {
    if (!tensor.isParameter)
      continue;
    TensorSpec &spec = specs.emplace_back();
    spec.name = tensor.name;
    spec.globalShape = spec.localShape = tensor.shape;
    spec.storedShape = tensor.storedShape;
  }
  WeightFiles weights;
  DTC_RETURN_IF_ERROR(weights.open(folder));
  std::vector<StoredTensor> stored;
  Status status = matchWeights(weights, specs, stored);
  return status.ok() ? status
                     : Status::invalidArgument(text("the parameters of '", reader.folder(),
                                                    "' are not those of the weights beside the "
                                                    "config: ",
                                                    status.message()));
}

} // namespace dtc::rt

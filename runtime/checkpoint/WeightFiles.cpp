#include "runtime/checkpoint/WeightFiles.h"

#include "runtime/base/File.h"
#include "runtime/base/NestingDepth.h"
#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;
using Json = nlohmann::json;

Status StoredTensor::readFloats(uint64_t first, std::span<float> out) const {
  uint64_t each = elementCount(parts.front().entry->shape);
  while (!out.empty()) {
    const Weight &part = parts[first / each];
    uint64_t within = first % each;
    std::span<float> now = out.first(std::min<uint64_t>(out.size(), each - within));
    DTC_RETURN_IF_ERROR(part.file->readFloats(*part.entry, within, now));
    out = out.subspan(now.size());
    first += now.size();
  }
  return {};
}

Status WeightFiles::open(const std::string &path) {
  name = path;
  opened.clear();
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return openFolder();
  return opened.emplace_back().open(path);
}

Status WeightFiles::openFolder() {
  auto has = [&](const char *file) { return ::access(text(name, "/", file).c_str(), F_OK) == 0; };
  if (has(kWeightsFile))
    return opened.emplace_back().open(text(name, "/", kWeightsFile));
  if (has(kWeightsIndex))
    return openIndex(text(name, "/", kWeightsIndex));
  if (has("pytorch_model.bin") || has("pytorch_model.bin.index.json"))
    return Status::invalidArgument(
        text("'", name,
             "' has its weights pickled, which runs code as it is read; save them with "
             "safe_serialization=True"));
  return Status::notFound(text("'", name, "' has neither ", kWeightsFile, " nor ", kWeightsIndex));
}

Status WeightFiles::openIndex(const std::string &index) {
  auto damaged = [&](const std::string &what) {
    return Status::dataLoss(text("reading '", index, "': ", what));
  };
  constexpr uint64_t kMostIndexBytes = uint64_t(1) << 28;
  std::string words;
  DTC_RETURN_IF_ERROR(readWhole(index, kMostIndexBytes, words));
  if (nestsDeeperThan(words, 8))
    return damaged("it nests deeper than an index does");
  Json root = Json::parse(words, nullptr, /*allow_exceptions=*/false);
  auto map = root.is_object() ? root.find("weight_map") : root.end();
  if (!root.is_object() || map == root.end() || !map->is_object())
    return damaged("it has no object 'weight_map'");
  std::set<std::string> files;
  for (const auto &[tensor, file] : map->items()) {
    // A path that leads elsewhere is refused.
    if (!file.is_string() || file.get_ref<const std::string &>().find('/') != std::string::npos ||
        !file.get_ref<const std::string &>().ends_with(".safetensors"))
      return damaged(text("'", tensor, "' is in ", file.dump(),
                          ", wanted a file of its folder that ends in .safetensors"));
    files.insert(file.get<std::string>());
  }
  constexpr size_t kMostFiles = 1000; // all are open at a time
  if (files.size() > kMostFiles)
    return damaged(text("it names ", files.size(), " files, wanted at most ", kMostFiles));
  std::map<std::string, const SafetensorsFile *> byName;
  std::set<std::string> tensors;
  for (const std::string &file : files) {
    DTC_RETURN_IF_ERROR(opened.emplace_back().open(text(name, "/", file)));
    byName[file] = &opened.back();
    for (const SafetensorsEntry &entry : opened.back().entries())
      if (!tensors.insert(entry.name).second)
        return damaged(text("two of its files have a tensor '", entry.name, "'"));
  }
  for (const auto &[tensor, file] : map->items())
    if (!byName[file.get<std::string>()]->find(tensor))
      return damaged(text("'", tensor, "' is not in ", file.dump()));
  return {};
}

} // namespace dtc::rt

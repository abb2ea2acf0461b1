// The token files of a folder, one after the other: of one split, and all of one kind.
#include "runtime/data/TokenFolder.h"

#include "runtime/base/Text.h"
#include "runtime/data/BuiltFolder.h"
#include "runtime/data/Concatenation.h"
#include "runtime/data/Content.h"
#include "runtime/data/TokenFile.h"
#include "runtime/data/TokenPath.h"

#include <algorithm>
#include <cctype>
#include <dirent.h>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace dtc::rt {
using format::text;

namespace {

// The names in a folder, by kind, sorted by their bytes.
struct Listing {
  std::vector<std::string> bins, texts, indexes, others, folders;
};

Status list(const std::string &folder, Listing &found) {
  DIR *opened = ::opendir(folder.c_str());
  if (!opened)
    return Status::invalidArgument(text("opening folder '", folder, "': it cannot be read"));
  while (const dirent *entry = ::readdir(opened)) {
    std::string_view name = entry->d_name;
    struct stat info;
    if (name.starts_with('.') || ::stat(text(folder, "/", name).c_str(), &info) != 0)
      continue;
    std::vector<std::string> &kind = S_ISDIR(info.st_mode)    ? found.folders
                                     : name.ends_with(".bin") ? found.bins
                                     : name.ends_with(".txt") ? found.texts
                                     : name.ends_with(".idx") ? found.indexes
                                                              : found.others;
    if (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))
      kind.emplace_back(name);
  }
  ::closedir(opened);
  for (auto *names : {&found.bins, &found.texts, &found.indexes, &found.others, &found.folders})
    std::sort(names->begin(), names->end());
  return {};
}

std::string quoteSome(const std::vector<std::string> &names) {
  constexpr size_t most = 3;
  std::string all;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    all += text(i ? ", '" : "'", names[i], "'");
  return names.size() > most ? text(all, " and ", names.size() - most, " more") : all;
}

// Returns an error for a folder without token files that says what it holds instead.
Status nothingIn(const std::string &folder, const Listing &found) {
  std::string what = "it has no .bin and no .txt files";
  if (!found.folders.empty()) {
    what += text("; it has the folders ", quoteSome(found.folders),
                 ", of which --data and "
                 "--eval-data take one each");
  } else if (!found.others.empty()) {
    InputFile file;
    Content content;
    std::string name = found.others.front();
    what += text("; '", name, "' is ");
    if (file.open(text(folder, "/", name)).ok() && recognise(file, content).ok() &&
        content.isRefused())
      what += text(content.what, ": ", content.advice);
    else
      what += "none of them; name a file to read it";
  }
  return Status::notFound(text("opening folder '", folder, "': ", what));
}

// Every .idx has its .bin, and a folder with one .idx is a Megatron data set: then every .bin has.
Status checkPairs(const std::string &folder, const Listing &found) {
  auto stem = [](const std::string &name) { return name.substr(0, name.size() - 4); };
  auto has = [](const std::vector<std::string> &names, const std::string &name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  for (const std::string &index : found.indexes)
    if (std::string bin = stem(index) + ".bin"; !has(found.bins, bin))
      return Status::notFound(text("opening folder '", folder, "': '", index, "' is there and '",
                                   bin, "' is missing; a Megatron data set needs both"));
  if (found.indexes.empty())
    return {};
  for (const std::string &bin : found.bins) {
    std::string index = stem(bin) + ".idx";
    InputFile file;
    Content content;
    if (has(found.indexes, index))
      continue;
    DTC_RETURN_IF_ERROR(file.open(text(folder, "/", bin)));
    DTC_RETURN_IF_ERROR(recognise(file, content));
    if (content.kind != Content::Kind::LlmcU16 && content.kind != Content::Kind::LlmcU32)
      return Status::notFound(text("opening folder '", folder, "': '", bin,
                                   "' has no header, and '", index,
                                   "' is missing, which the other files here have"));
  }
  return {};
}

// The part of a data set that a file's name states, as "fineweb_val_000001.bin" does.
enum class Part { Train, Validation, Test, Unnamed };

Part partOf(const std::string &name) {
  constexpr std::string_view train[] = {"train", "training"};
  constexpr std::string_view validation[] = {"val",        "valid", "validation", "eval",
                                             "evaluation", "dev",   "heldout"};
  auto isIn = [](const auto &words, const std::string &word) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  };
  std::string word;
  for (char c : name + ".") {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (isIn(train, word))
      return Part::Train;
    if (isIn(validation, word))
      return Part::Validation;
    if (word == "test")
      return Part::Test;
    word.clear();
  }
  return Part::Unnamed;
}

// Leaves the names of one split in `names` and moves the others to `leftOut`. A folder that has
// only one part is taken whole.
Status takeSplit(const std::string &folder, Split split, std::vector<std::string> &names,
                 std::vector<std::string> &leftOut) {
  std::vector<std::string> parts[4];
  for (const std::string &name : names)
    parts[static_cast<size_t>(partOf(name))].push_back(name);
  const auto &train = parts[0], &validation = parts[1], &test = parts[2], &unnamed = parts[3];
  size_t kinds = 0;
  for (const auto &part : parts)
    kinds += !part.empty();
  bool holdsOut = !validation.empty() || !test.empty();
  bool isWanted = split == Split::Training;
  if (kinds < 2 || (isWanted && !holdsOut))
    return {};
  const std::vector<std::string> &taken = isWanted              ? train
                                          : !validation.empty() ? validation
                                                                : test;
  const char *flag = isWanted ? "--data" : "--eval-data";
  if (taken.empty())
    return Status::invalidArgument(
        text("opening folder '", folder, "': it mixes ",
             holdsOut ? text("files to evaluate on (",
                             quoteSome(validation.empty() ? test : validation), ") with others")
                      : text("files to train on (", quoteSome(train), ") with others"),
             " (",
             quoteSome(!unnamed.empty() ? unnamed
                       : train.empty()  ? test
                                        : train),
             "), and none is named ", isWanted ? "'train'" : "'val'", "; give ", flag,
             " a file, or a folder of them alone"));
  if (!unnamed.empty())
    return Status::invalidArgument(text("opening folder '", folder,
                                        "': it has files for training and for validation, and ",
                                        quoteSome(unnamed), " is named as neither; give ", flag,
                                        " a file, or a folder of the wanted ones alone"));
  std::vector<std::string> wanted = taken;
  for (const std::string &name : names)
    if (!std::binary_search(wanted.begin(), wanted.end(), name))
      leftOut.push_back(text(folder, folder.ends_with('/') ? "" : "/", name));
  names = std::move(wanted);
  return {};
}

} // namespace

Status openTokenFolder(const TokenPath &given, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source) {
  const std::string &folder = given.path;
  if (given.stated == StatedFormat::Any && isBuiltFolder(folder))
    return openBuiltFolder(folder, options, source);
  Listing found;
  DTC_RETURN_IF_ERROR(list(folder, found));
  if (given.stated == StatedFormat::Any)
    DTC_RETURN_IF_ERROR(checkPairs(folder, found));
  if (found.bins.empty() && found.texts.empty())
    return nothingIn(folder, found);
  if (!found.bins.empty() && !found.texts.empty())
    return Status::invalidArgument(text(
        "opening folder '", folder, "': it has ids (", quoteSome(found.bins), ") and text (",
        quoteSome(found.texts), "), whose tokens are not the same; give a folder of one kind"));
  std::vector<std::string> &names = found.bins.empty() ? found.texts : found.bins;
  DataOrigin origin;
  DTC_RETURN_IF_ERROR(takeSplit(folder, options.split, names, origin.leftOut));
  std::vector<std::unique_ptr<TokenSource>> parts;
  std::vector<std::string> formats;
  for (const std::string &name : names) {
    std::string path = text(folder, folder.ends_with('/') ? "" : "/", name);
    DTC_RETURN_IF_ERROR(openTokenFile({given.stated, path}, options, parts.emplace_back()));
    origin.files.push_back(path);
    const std::string &format = parts.back()->origin().format;
    if (std::find(formats.begin(), formats.end(), format) == formats.end())
      formats.push_back(format);
  }
  for (const std::string &format : formats)
    origin.format += text(origin.format.empty() ? "" : " and ", format);
  source = std::make_unique<Concatenation>(folder, std::move(origin), std::move(parts));
  return Status::okStatus();
}

} // namespace dtc::rt

// Matches the tensors of files to those of a model.
#include "runtime/checkpoint/MatchWeights.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/WeightFiles.h"
#include "runtime/format/ElementTypes.h"

#include <algorithm>
#include <map>

namespace dtc::rt {
using format::text;

namespace {
constexpr std::string_view prefixes[] = {"transformer.", "model.", "gpt_neox."};
// Buffers that files of GPT-2, GPT-NeoX and Llama carry and no training needs.
constexpr std::string_view ignoredEndings[] = {".attn.bias", ".attn.masked_bias", ".attention.bias",
                                               ".attention.masked_bias", ".rotary_emb.inv_freq"};
constexpr std::string_view embeddingEndings[] = {"wte.weight", "embed_tokens.weight",
                                                 "embed_in.weight"};

// The output layer that a file repeats for a module that predicts later tokens.
constexpr std::string_view moduleHead = ".shared_head.head.weight";

std::string shapeText(std::span<const uint64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += text(i ? ", " : "", shape[i]);
  return out + "]";
}

// The problems of a file, a line for each kind with its first few tensors.
class Problems {
public:
  void add(const char *kind, std::string tensor) {
    for (Kind &known : kinds)
      if (known.words == kind)
        return known.add(std::move(tensor));
    kinds.push_back({kind, 0, {}});
    kinds.back().add(std::move(tensor));
  }
  bool none() const { return kinds.empty(); }
  std::string message() const {
    std::string out;
    for (const Kind &kind : kinds) {
      out += text(out.empty() ? "" : "; ", kind.count, " ", kind.words, ": ", kind.tensors);
      if (kind.count > kShown)
        out += text(" and ", kind.count - kShown, " more");
    }
    return out;
  }

private:
  static constexpr size_t kShown = 5;
  struct Kind {
    std::string words;
    size_t count;
    std::string tensors;
    void add(std::string tensor) {
      if (count < kShown)
        tensors += text(count ? ", " : "", tensor);
      ++count;
    }
  };
  std::vector<Kind> kinds;
};

class Matcher {
public:
  Matcher(const WeightFiles &files, std::span<const TensorSpec> tensors)
      : files(files), tensors(tensors) {}

  // Finds the tensors of each parameter, or lists what does not fit.
  Status match(std::vector<StoredTensor> &stored);

private:
  Weight findExactly(const std::string &name) const;
  Weight find(const std::string &name) const;
  void matchOne(const TensorSpec &spec, const std::string &name, std::span<const uint64_t> shape,
                StoredTensor &stored);
  void judgeExtra(const Weight &extra);
  bool tiesHead(const SafetensorsEntry &head) const;
  bool isCopyOfWanted(const Weight &extra);
  bool equalsOne(const Weight &extra, bool (*isOne)(const std::string &name));
  bool isSharedByModule(const Weight &extra);
  std::string similarMissing(const SafetensorsEntry &extra) const;
  Status compare(const Weight &a, const Weight &b, bool &equal) const;

  const WeightFiles &files;
  std::span<const TensorSpec> tensors;
  std::map<const SafetensorsEntry *, std::pair<const SafetensorsFile *, const TensorSpec *>>
      wantedBy;                                                       // the first
  std::vector<std::pair<std::string, std::vector<uint64_t>>> missing; // names and shapes
  Problems problems;
  Status status; // error of reading
};

Weight Matcher::findExactly(const std::string &name) const {
  for (const SafetensorsFile &file : files.files())
    if (const SafetensorsEntry *entry = file.find(name))
      return {&file, entry};
  return {};
}

Weight Matcher::find(const std::string &name) const {
  Weight found = findExactly(name);
  for (std::string_view prefix : prefixes) {
    if (!found.entry && name.starts_with(prefix))
      found = findExactly(name.substr(prefix.size()));
    if (!found.entry)
      found = findExactly(text(prefix, name));
  }
  return found;
}

// Compares the bytes of two tensors of one shape and dtype.
Status Matcher::compare(const Weight &a, const Weight &b, bool &equal) const {
  std::vector<uint8_t> left(size_t(1) << 20), right(left.size());
  equal = true;
  for (uint64_t at = 0, end = a.entry->end - a.entry->begin; at < end && equal; at += left.size()) {
    size_t now = std::min<uint64_t>(end - at, left.size());
    DTC_RETURN_IF_ERROR(a.file->readBytes(*a.entry, at, std::span(left).first(now)));
    DTC_RETURN_IF_ERROR(b.file->readBytes(*b.entry, at, std::span(right).first(now)));
    equal = std::equal(left.begin(), left.begin() + static_cast<ptrdiff_t>(now), right.begin());
  }
  return {};
}

bool isEmbedding(const std::string &name) {
  return std::any_of(std::begin(embeddingEndings), std::end(embeddingEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// Returns true if the model has an embedding, and no other parameter has the shape of the file's
// head.
bool Matcher::tiesHead(const SafetensorsEntry &head) const {
  bool hasEmbedding = false, hasOther = false;
  for (const auto &[entry, from] : wantedBy) {
    hasEmbedding |= isEmbedding(entry->name);
    hasOther |= !isEmbedding(entry->name) && entry->shape == head.shape;
  }
  for (const auto &[name, shape] : missing)
    hasOther |= shape == head.shape;
  return hasEmbedding && !hasOther;
}

// Returns true if a tensor of the file equals a parameter of the model with such a name.
bool Matcher::equalsOne(const Weight &extra, bool (*isOne)(const std::string &name)) {
  bool equal = false;
  for (const auto &[entry, from] : wantedBy)
    if (!equal && status.ok() && isOne(entry->name) && entry->shape == extra.entry->shape &&
        entry->dtype == extra.entry->dtype)
      status = compare(extra, {from.first, entry}, equal);
  return equal;
}

// Returns true if the file repeats an embedding or an output layer of the model for a module that
// predicts later tokens, as DeepSeek's files do.
bool Matcher::isSharedByModule(const Weight &extra) {
  const std::string &name = extra.entry->name;
  if (name.ends_with(moduleHead))
    return equalsOne(extra, isOutputLayer) || equalsOne(extra, isEmbedding);
  return isEmbedding(name) && equalsOne(extra, isEmbedding);
}

// Returns true if the file says that a tensor is a parameter of the model under another name, and
// it has the parameter's bytes.
bool Matcher::isCopyOfWanted(const Weight &extra) {
  const std::map<std::string, std::string> &metadata = extra.file->metadata();
  auto said = metadata.find(extra.entry->name);
  Weight of = said == metadata.end() ? Weight() : findExactly(said->second);
  bool equal = false;
  if (of.entry && wantedBy.count(of.entry) && status.ok() &&
      of.entry->shape == extra.entry->shape && of.entry->dtype == extra.entry->dtype)
    status = compare(extra, of, equal);
  return equal;
}

// " (is it the missing 'NAME'?)" if exactly one missing parameter has the shape of `extra`, else
// "".
std::string Matcher::similarMissing(const SafetensorsEntry &extra) const {
  std::string similar;
  for (const auto &[name, shape] : missing) {
    if (shape != extra.shape)
      continue;
    if (!similar.empty())
      return "";
    similar = text(" (is it the missing '", name, "'?)");
  }
  return similar;
}

void Matcher::judgeExtra(const Weight &extra) {
  const SafetensorsEntry &entry = *extra.entry;
  for (std::string_view ending : ignoredEndings)
    if (entry.name.ends_with(ending))
      return;
  if (isCopyOfWanted(extra) || isSharedByModule(extra))
    return;
  bool isHead = isOutputLayer(entry.name);
  if ((isHead && equalsOne(extra, isEmbedding)) || !status.ok())
    return;
  if (isHead && tiesHead(entry))
    problems.add("unequal to the embedding that the model ties it to", text("'", entry.name, "'"));
  else
    problems.add("unknown to the model", text("'", entry.name, "'", similarMissing(entry)));
}

void Matcher::matchOne(const TensorSpec &spec, const std::string &name,
                       std::span<const uint64_t> shape, StoredTensor &stored) {
  Weight weight = find(name);
  if (!weight.entry) {
    missing.emplace_back(name, std::vector<uint64_t>(shape.begin(), shape.end()));
    return problems.add("missing", text("'", name, "' ", shapeText(shape)));
  }
  const SafetensorsEntry &entry = *weight.entry;
  stored.parts.push_back(weight);
  auto [known, isNew] = wantedBy.try_emplace(&entry, weight.file, &spec);
  if (!isNew && known->second.second->name != spec.name)
    problems.add("wanted twice", text("'", entry.name, "'"));
  if (!std::equal(shape.begin(), shape.end(), entry.shape.begin(), entry.shape.end()))
    problems.add("of another shape", text("'", entry.name, "' is ", shapeText(entry.shape),
                                          ", wanted ", shapeText(shape)));
  std::optional<format::DType> type = format::storedType(entry.dtype);
  if (!type || !elementTypeOf(*type))
    problems.add("of another dtype",
                 text("'", entry.name, "' is ", entry.dtype, ", wanted F32, BF16 or F16"));
}

Status Matcher::match(std::vector<StoredTensor> &stored) {
  for (const TensorSpec &spec : tensors) {
    StoredTensor &found = stored.emplace_back();
    std::span<const uint64_t> shape = spec.storedShape;
    size_t star = spec.name.find('*');
    if (star == std::string::npos || shape.empty() || find(spec.name).entry) {
      matchOne(spec, spec.name, shape, found);
      continue;
    }
    for (uint64_t index = 0; index < shape.front(); ++index)
      matchOne(spec, memberOf(spec.name, index), shape.subspan(1), found);
  }
  for (const SafetensorsFile &file : files.files())
    for (const SafetensorsEntry &entry : file.entries())
      if (!wantedBy.count(&entry))
        judgeExtra({&file, &entry});
  DTC_RETURN_IF_ERROR(status);
  if (!problems.none())
    return Status::invalidArgument(
        text("loading '", files.path(), "': of its tensors ", problems.message()));
  return Status::okStatus();
}

} // namespace

Status matchWeights(const WeightFiles &files, std::span<const TensorSpec> tensors,
                    std::vector<StoredTensor> &stored) {
  stored.clear();
  return Matcher(files, tensors).match(stored);
}

std::string memberOf(const std::string &name, uint64_t index) {
  size_t star = name.find('*');
  return star == std::string::npos ? name
                                   : text(name.substr(0, star), index, name.substr(star + 1));
}

} // namespace dtc::rt

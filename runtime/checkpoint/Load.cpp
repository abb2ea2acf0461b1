// Matches the tensors of a file to those of a model and cuts out shards.
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Parameters.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>
#include <map>
#include <set>

namespace dtc::rt {
using format::text;

namespace {
constexpr std::string_view kPrefix = "transformer.";
// Buffers that GPT-2 and Llama files carry and no training needs.
constexpr std::string_view ignoredEndings[] = {".attn.bias", ".attn.masked_bias",
                                               ".rotary_emb.inv_freq"};
constexpr std::string_view embeddingEndings[] = {"wte.weight", "embed_tokens.weight"};
constexpr std::string_view kTiedHead = "lm_head.weight";

std::string shapeText(std::span<const uint64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += text(i ? ", " : "", shape[i]);
  return out + "]";
}

// What is wrong with a file, a line for each kind with its first few tensors.
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
  Matcher(const SafetensorsFile &file, std::span<const TensorSpec> tensors)
      : file(file), tensors(tensors) {}

  // Finds the entry of each tensor, or says all that does not fit.
  Status match(std::vector<const SafetensorsEntry *> &entries);

private:
  const SafetensorsEntry *find(const std::string &name) const {
    if (const SafetensorsEntry *entry = file.find(name))
      return entry;
    return name.starts_with(kPrefix) ? file.find(name.substr(kPrefix.size()))
                                     : file.find(text(kPrefix, name));
  }
  void judgeExtra(const SafetensorsEntry &entry);
  Status compare(const SafetensorsEntry &a, const SafetensorsEntry &b, bool &equal) const;

  const SafetensorsFile &file;
  std::span<const TensorSpec> tensors;
  std::set<const SafetensorsEntry *> used;
  std::map<const SafetensorsEntry *, const TensorSpec *> wantedBy; // the first
  Problems problems;
  Status status; // of reading
};
} // namespace

// Whether two entries of one shape and dtype hold the same bytes.
Status Matcher::compare(const SafetensorsEntry &a, const SafetensorsEntry &b, bool &equal) const {
  std::vector<uint8_t> left(size_t(1) << 20), right(left.size());
  equal = true;
  for (uint64_t at = 0, end = a.end - a.begin; at < end && equal; at += left.size()) {
    size_t now = std::min<uint64_t>(end - at, left.size());
    DTC_RETURN_IF_ERROR(file.readBytes(a, at, std::span(left).first(now)));
    DTC_RETURN_IF_ERROR(file.readBytes(b, at, std::span(right).first(now)));
    equal = std::equal(left.begin(), left.begin() + static_cast<ptrdiff_t>(now), right.begin());
  }
  return {};
}

void Matcher::judgeExtra(const SafetensorsEntry &entry) {
  for (std::string_view ending : ignoredEndings)
    if (entry.name.ends_with(ending))
      return;
  if (entry.name == kTiedHead) {
    for (const SafetensorsEntry *embedding : used) {
      bool isEmbedding =
          std::any_of(std::begin(embeddingEndings), std::end(embeddingEndings),
                      [&](std::string_view ending) { return embedding->name.ends_with(ending); });
      if (!isEmbedding || embedding->shape != entry.shape || embedding->dtype != entry.dtype)
        continue;
      bool equal = false;
      if (status.ok())
        status = compare(entry, *embedding, equal);
      if (equal || !status.ok())
        return;
    }
    problems.add("unequal to the embedding that the model ties it to", text("'", entry.name, "'"));
    return;
  }
  problems.add("unknown to the model", text("'", entry.name, "'"));
}

Status Matcher::match(std::vector<const SafetensorsEntry *> &entries) {
  for (const TensorSpec &spec : tensors) {
    const SafetensorsEntry *entry = find(spec.name);
    entries.push_back(entry);
    if (!entry) {
      problems.add("missing", text("'", spec.name, "' ", shapeText(spec.storedShape)));
      continue;
    }
    auto [known, isNew] = wantedBy.try_emplace(entry, &spec);
    used.insert(entry);
    if (!isNew && known->second->name != spec.name)
      problems.add("wanted twice", text("'", entry->name, "'"));
    if (entry->shape != spec.storedShape)
      problems.add("of another shape", text("'", entry->name, "' is ", shapeText(entry->shape),
                                            ", wanted ", shapeText(spec.storedShape)));
    if (entry->dtype != "F32" && entry->dtype != "BF16" && entry->dtype != "F16")
      problems.add("of another dtype",
                   text("'", entry->name, "' is ", entry->dtype, ", wanted F32, BF16 or F16"));
  }
  for (const SafetensorsEntry &entry : file.entries())
    if (!used.count(&entry))
      judgeExtra(entry);
  DTC_RETURN_IF_ERROR(status);
  if (!problems.none())
    return Status::invalidArgument(
        text("loading '", file.path(), "': of its tensors ", problems.message()));
  return Status::okStatus();
}

Status loadParameters(const std::string &path, std::span<const TensorSpec> tensors,
                      const format::RankMesh &mesh, uint32_t rank, const ShardWriter &write) {
  SafetensorsFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  std::vector<const SafetensorsEntry *> entries;
  DTC_RETURN_IF_ERROR(Matcher(file, tensors).match(entries));
  const std::vector<uint32_t> coordinates = mesh.coordinatesOf(rank);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].isHeldBy(rank))
      continue;
    std::vector<ShardBox> boxes;
    DTC_RETURN_IF_ERROR(shardBoxes(tensors[i], mesh.sizes(), coordinates, boxes));
    std::vector<float> local(elementCount(tensors[i].localShape));
    Status status;
    forEachRun(tensors[i], boxes, [&](uint64_t global, uint64_t at, uint64_t length) {
      if (status.ok())
        status = file.readFloats(*entries[i], global, std::span(local).subspan(at, length));
    });
    DTC_RETURN_IF_ERROR(status);
    DTC_RETURN_IF_ERROR(write(i, local));
  }
  return Status::okStatus();
}

} // namespace dtc::rt

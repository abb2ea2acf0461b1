// Reads manifests without trusting them.
#include "runtime/checkpoint/ManifestRead.h"

#include "runtime/base/Checked.h"
#include "runtime/base/NestingDepth.h"
#include "runtime/base/TensorSpec.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Manifest.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace dtc::rt {
namespace {

using format::text;
using Json = nlohmann::json;

// Limits that no run reaches; a manifest beyond them would take long to check.
constexpr size_t kMostDims = 16, kMostPieces = 1 << 16, kMostCauses = 64;
constexpr int kMostDepth = 7;

class ManifestReader {
public:
  ManifestReader(const std::string &path, CheckpointManifest &manifest)
      : path(path), manifest(manifest) {}

  Status read(std::string_view json);

private:
  Status damaged(const std::string &what) const {
    return Status::dataLoss(text("reading '", path, "': ", what));
  }
  Status number(const Json &from, const char *key, uint64_t &value) const;
  Status real(const Json &from, const char *key, double &value) const;
  Status words(const Json &from, const char *key, std::string &value) const;
  Status list(const Json &from, const char *key, const Json *&value) const;
  Status numbers(const Json &from, const char *key, std::vector<uint64_t> &values) const;
  Status readRun(const Json &root);
  Status readSpent(const Json &from);
  Status readMesh(const Json &root);
  Status readShards(const Json &root);
  Status readTensor(const Json &from);
  Status readPiece(const Json &from, const CheckpointTensor &tensor, CheckpointPiece &piece) const;
  Status checkTensor(const CheckpointTensor &tensor) const;
  Status checkCover(const CheckpointTensor &tensor) const;
  Status checkApart() const;

  const std::string &path;
  CheckpointManifest &manifest;
};

Status ManifestReader::number(const Json &from, const char *key, uint64_t &value) const {
  auto at = from.find(key);
  if (at == from.end() || !at->is_number_unsigned())
    return damaged(text("'", key, "' is no whole number of 0 or more"));
  value = at->get<uint64_t>();
  return {};
}

Status ManifestReader::real(const Json &from, const char *key, double &value) const {
  auto at = from.find(key);
  if (at == from.end() || !at->is_number() || !std::isfinite(at->get<double>()))
    return damaged(text("'", key, "' is no finite number"));
  value = at->get<double>();
  return {};
}

Status ManifestReader::words(const Json &from, const char *key, std::string &value) const {
  auto at = from.find(key);
  if (at == from.end() || !at->is_string())
    return damaged(text("'", key, "' is no string"));
  value = at->get_ref<const std::string &>();
  return {};
}

Status ManifestReader::list(const Json &from, const char *key, const Json *&value) const {
  auto at = from.find(key);
  if (at == from.end() || !at->is_array())
    return damaged(text("'", key, "' is no list"));
  value = &*at;
  for (const Json &entry : *value)
    if (!entry.is_object())
      return damaged(text("'", key, "' has an entry that is no object"));
  return {};
}

Status ManifestReader::numbers(const Json &from, const char *key,
                               std::vector<uint64_t> &values) const {
  auto at = from.find(key);
  if (at == from.end() || !at->is_array() || at->size() > kMostDims)
    return damaged(text("'", key, "' is no list of at most ", kMostDims, " numbers"));
  for (const Json &value : *at) {
    if (!value.is_number_unsigned())
      return damaged(text("'", key, "' has an entry that is no whole number of 0 or more"));
    values.push_back(value.get<uint64_t>());
  }
  return {};
}

Status ManifestReader::readRun(const Json &root) {
  CheckpointRun &run = manifest.run;
  double rate = 0;
  DTC_RETURN_IF_ERROR(words(root, "producer", manifest.producer));
  DTC_RETURN_IF_ERROR(words(root, "model", manifest.model));
  DTC_RETURN_IF_ERROR(words(root, "program", manifest.program));
  if (root.contains("config"))
    DTC_RETURN_IF_ERROR(words(root, "config", manifest.config));
  DTC_RETURN_IF_ERROR(number(root, "step", run.step));
  DTC_RETURN_IF_ERROR(number(root, "total_steps", run.totalSteps));
  DTC_RETURN_IF_ERROR(number(root, "seed", run.seed));
  DTC_RETURN_IF_ERROR(real(root, "base_lr", rate));
  DTC_RETURN_IF_ERROR(number(root, "global_batch", run.globalBatch));
  DTC_RETURN_IF_ERROR(number(root, "sequence_length", run.sequenceLength));
  DTC_RETURN_IF_ERROR(number(root, "samples", run.samples));
  DTC_RETURN_IF_ERROR(number(root, "skipped_steps", run.skippedSteps));
  DTC_RETURN_IF_ERROR(number(root, "skipped_row", run.skippedRow));
  DTC_RETURN_IF_ERROR(real(root, "loss_scale", run.lossScale));
  // Optional: older versions of dtrun did not leave out data.
  if (root.contains("skipped_batches")) {
    DTC_RETURN_IF_ERROR(number(root, "skipped_batches", run.skippedBatches));
    DTC_RETURN_IF_ERROR(real(root, "mean_loss", run.meanLoss));
    DTC_RETURN_IF_ERROR(number(root, "mean_loss_steps", run.meanLossSteps));
  }
  // Optional: older versions of dtrun did not add up jobs.
  if (auto spent = root.find("spent_s"); spent != root.end())
    DTC_RETURN_IF_ERROR(readSpent(*spent));
  run.baseLearningRate = static_cast<float>(rate);
  if (run.skippedRow > run.skippedSteps || run.skippedSteps > run.step)
    return damaged(text("of ", run.step, " steps ", run.skippedSteps, " were skipped, the last ",
                        run.skippedRow, " one after another, which cannot be"));
  return {};
}

Status ManifestReader::readSpent(const Json &from) {
  if (!from.is_object() || from.size() > kMostCauses)
    return damaged(text("'spent_s' is no object of at most ", kMostCauses, " numbers"));
  for (const auto &[cause, value] : from.items()) {
    double seconds = 0;
    DTC_RETURN_IF_ERROR(real(from, cause.c_str(), seconds));
    if (seconds < 0 || seconds > kMostSpentSeconds)
      return damaged(text("'", cause, "' of 'spent_s' is ", value.dump(),
                          ", wanted seconds from 0 to ", kMostSpentSeconds));
    manifest.run.spent.emplace_back(cause, seconds);
  }
  return {};
}

Status ManifestReader::readMesh(const Json &root) {
  const Json *axes = nullptr;
  DTC_RETURN_IF_ERROR(list(root, "mesh", axes));
  for (const Json &axis : *axes) {
    auto &[name, size] = manifest.mesh.emplace_back();
    DTC_RETURN_IF_ERROR(words(axis, "axis", name));
    DTC_RETURN_IF_ERROR(number(axis, "size", size));
  }
  return {};
}

bool isHash(const Json &value) {
  return value.is_string() && value.get_ref<const std::string &>().size() == 32 &&
         value.get_ref<const std::string &>().find_first_not_of("0123456789abcdef") ==
             std::string::npos;
}

Status ManifestReader::readShards(const Json &root) {
  uint64_t block = 0;
  DTC_RETURN_IF_ERROR(number(root, "block_bytes", block));
  if (block != kCheckpointBlock)
    return damaged(text("its blocks have ", block, " bytes, wanted ", kCheckpointBlock));
  const Json *shards = nullptr;
  DTC_RETURN_IF_ERROR(list(root, "shards", shards));
  format::Checked all = 0;
  for (const Json &from : *shards) {
    std::string file, wanted = shardFile(manifest.shards.size());
    DTC_RETURN_IF_ERROR(words(from, "file", file));
    // A path that leads elsewhere is refused.
    if (file != wanted)
      return damaged(
          text("its shard ", manifest.shards.size(), " is '", file, "', wanted '", wanted, "'"));
    CheckpointShard &shard = manifest.shards.emplace_back();
    DTC_RETURN_IF_ERROR(number(from, "bytes", shard.bytes));
    all = all + shard.bytes;
    uint64_t blocks = shard.bytes / block + (shard.bytes % block != 0);
    auto hashes = from.find("xxh3_128");
    if (hashes == from.end() || !hashes->is_array() || hashes->size() != blocks ||
        !std::all_of(hashes->begin(), hashes->end(), isHash))
      return damaged(text("'", file, "' has ", shard.bytes, " bytes and no list of ", blocks,
                          " hashes of 32 hex digits"));
    for (const Json &hash : *hashes)
      shard.hashes.push_back(hash.get_ref<const std::string &>());
  }
  return all.ok() ? Status() : damaged("its shards have more bytes than 64 bits count");
}

Status ManifestReader::readPiece(const Json &from, const CheckpointTensor &tensor,
                                 CheckpointPiece &piece) const {
  uint64_t shard = 0;
  DTC_RETURN_IF_ERROR(number(from, "shard", shard));
  DTC_RETURN_IF_ERROR(number(from, "offset", piece.offset));
  DTC_RETURN_IF_ERROR(numbers(from, "begin", piece.box.begin));
  DTC_RETURN_IF_ERROR(numbers(from, "extent", piece.box.extent));
  auto bad = [&](const std::string &what) {
    return damaged(text("a piece of tensor '", tensor.name, "' ", what));
  };
  if (shard >= manifest.shards.size())
    return bad(text("is in shard ", shard, ", of ", manifest.shards.size()));
  piece.shard = static_cast<uint32_t>(shard);
  size_t dims = tensor.shape.size();
  if (piece.box.begin.size() != dims || piece.box.extent.size() != dims)
    return bad(text("has another number of dims than its ", dims));
  uint64_t elements = 1; // at most the tensor's, which were counted
  for (size_t dim = 0; dim < dims; ++dim) {
    uint64_t begin = piece.box.begin[dim], extent = piece.box.extent[dim];
    if (extent == 0 || begin > tensor.shape[dim] || extent > tensor.shape[dim] - begin)
      return bad(text("has ", extent, " indices from ", begin, " on of dim ", dim, ", which has ",
                      tensor.shape[dim]));
    elements *= extent;
  }
  uint64_t bytes = manifest.shards[shard].bytes;
  if (piece.offset > bytes || elements * tensor.width() > bytes - piece.offset)
    return bad(text("has ", elements * tensor.width(), " bytes at ", piece.offset, " of '",
                    shardFile(shard), "', which has ", bytes));
  return {};
}

Status ManifestReader::checkTensor(const CheckpointTensor &tensor) const {
  if (!format::storedType(tensor.dtype))
    return damaged(text("tensor '", tensor.name, "' has dtype '", tensor.dtype,
                        "', wanted F32, BF16, F16, I32, I64 or U8"));
  format::Checked bytes = tensor.width(), stored = tensor.width();
  for (uint64_t size : tensor.shape)
    bytes = bytes * size;
  for (uint64_t size : tensor.storedShape)
    stored = stored * size;
  if (!bytes.ok() || !stored.ok() || bytes.value() != stored.value())
    return damaged(text("tensor '", tensor.name,
                        "' has more bytes than 64 bits count, or others in its stored shape"));
  if (!manifest.tensors.empty() && manifest.tensors.back().name >= tensor.name)
    return damaged(text("tensor '", tensor.name, "' follows '", manifest.tensors.back().name,
                        "', wanted each once, in order of name"));
  return {};
}

Status ManifestReader::checkCover(const CheckpointTensor &tensor) const {
  std::vector<Box> boxes;
  for (const CheckpointPiece &piece : tensor.pieces)
    boxes.push_back(piece.box);
  if (coverOnce(tensor.shape, boxes))
    return {};
  return damaged(text("the ", tensor.pieces.size(), " pieces of tensor '", tensor.name,
                      "' do not hold every element exactly once"));
}

Status ManifestReader::readTensor(const Json &from) {
  CheckpointTensor tensor;
  std::string kind;
  DTC_RETURN_IF_ERROR(words(from, "name", tensor.name));
  DTC_RETURN_IF_ERROR(words(from, "kind", kind));
  DTC_RETURN_IF_ERROR(words(from, "dtype", tensor.dtype));
  DTC_RETURN_IF_ERROR(numbers(from, "shape", tensor.shape));
  DTC_RETURN_IF_ERROR(numbers(from, "stored_shape", tensor.storedShape));
  if (from.contains("copy_of"))
    DTC_RETURN_IF_ERROR(words(from, "copy_of", tensor.copyOf));
  tensor.isParameter = kind == "parameter";
  if (!tensor.isParameter && kind != "state")
    return damaged(text("tensor '", tensor.name, "' is a '", kind, "', wanted parameter or state"));
  DTC_RETURN_IF_ERROR(checkTensor(tensor));
  const Json *pieces = nullptr;
  DTC_RETURN_IF_ERROR(list(from, "pieces", pieces));
  if (pieces->size() > kMostPieces)
    return damaged(text("tensor '", tensor.name, "' has ", pieces->size(),
                        " pieces, wanted at most ", kMostPieces));
  for (const Json &piece : *pieces)
    DTC_RETURN_IF_ERROR(readPiece(piece, tensor, tensor.pieces.emplace_back()));
  DTC_RETURN_IF_ERROR(checkCover(tensor));
  manifest.tensors.push_back(std::move(tensor));
  return {};
}

// Checks that no two pieces share a byte.
Status ManifestReader::checkApart() const {
  struct Range {
    uint32_t shard;
    uint64_t begin, end;
    const CheckpointTensor *tensor;
  };
  std::vector<Range> ranges;
  for (const CheckpointTensor &tensor : manifest.tensors)
    for (const CheckpointPiece &piece : tensor.pieces)
      ranges.push_back({piece.shard, piece.offset,
                        piece.offset + elementCount(piece.box.extent) * tensor.width(), &tensor});
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.shard, a.begin) < std::tie(b.shard, b.begin);
  });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].shard == ranges[i - 1].shard && ranges[i].begin < ranges[i - 1].end)
      return damaged(text("pieces of tensors '", ranges[i - 1].tensor->name, "' and '",
                          ranges[i].tensor->name, "' both lie at byte ", ranges[i].begin, " of '",
                          shardFile(ranges[i].shard), "'"));
  return {};
}

Status ManifestReader::read(std::string_view json) {
  if (nestsDeeperThan(json, kMostDepth))
    return damaged("it nests deeper than a manifest does");
  Json root = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    return damaged("it is no JSON object");
  std::string format;
  DTC_RETURN_IF_ERROR(words(root, "format", format));
  if (format != "dtc.checkpoint/1")
    return damaged(text("its format is '", format, "', wanted dtc.checkpoint/1"));
  DTC_RETURN_IF_ERROR(readRun(root));
  DTC_RETURN_IF_ERROR(readMesh(root));
  DTC_RETURN_IF_ERROR(readShards(root));
  const Json *tensors = nullptr;
  DTC_RETURN_IF_ERROR(list(root, "tensors", tensors));
  for (const Json &tensor : *tensors)
    DTC_RETURN_IF_ERROR(readTensor(tensor));
  return checkApart();
}

} // namespace

Status parseManifest(const std::string &path, std::string_view json, CheckpointManifest &manifest) {
  manifest = {};
  return ManifestReader(path, manifest).read(json);
}

} // namespace dtc::rt

#include "runtime/checkpoint/Manifest.h"

#include "runtime/base/TensorSpec.h"
#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;
using Json = nlohmann::json;

std::string hashOf(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string hex;
  for (unsigned char byte : canonical.digest) {
    constexpr char digits[] = "0123456789abcdef";
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  return hex;
}

const CheckpointTensor *CheckpointManifest::find(std::string_view name) const {
  auto at = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const CheckpointTensor &tensor, std::string_view wanted) { return tensor.name < wanted; });
  return at != tensors.end() && at->name == name ? &*at : nullptr;
}

uint64_t CheckpointManifest::bytes() const {
  uint64_t all = 0;
  for (const CheckpointShard &shard : shards)
    all += shard.bytes;
  return all;
}

std::string shardFile(size_t number) {
  char name[48];
  std::snprintf(name, sizeof(name), "shard-%05zu.safetensors", number);
  return name;
}

std::string entryName(const CheckpointTensor &tensor, const CheckpointPiece &piece) {
  if (piece.box.extent == tensor.shape)
    return tensor.name;
  std::string name = tensor.name;
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim)
    name += text(dim == 0 ? "[" : ", ", piece.box.begin[dim], ":",
                 piece.box.begin[dim] + piece.box.extent[dim]);
  return name + "]";
}

std::string toJson(const CheckpointManifest &manifest) {
  const CheckpointRun &run = manifest.run;
  nlohmann::ordered_json root = {
      {"format", "dtc.checkpoint/1"},
      {"producer", manifest.producer},
      {"model", manifest.model},
      {"program", manifest.program},
      {"step", run.step},
      {"total_steps", run.totalSteps},
      {"seed", run.seed},
      {"base_lr", static_cast<double>(run.baseLearningRate)},
      {"global_batch", run.globalBatch},
      {"sequence_length", run.sequenceLength},
      {"samples", run.samples},
      {"samples_read", (run.step + run.skippedBatches) * run.globalBatch},
      {"skipped_batches", run.skippedBatches},
      {"mean_loss", run.meanLoss},
      {"mean_loss_steps", run.meanLossSteps},
      {"skipped_steps", run.skippedSteps},
      {"skipped_row", run.skippedRow},
      {"loss_scale", run.lossScale},
      {"mesh", nlohmann::ordered_json::array()},
      {"block_bytes", kCheckpointBlock},
      {"shards", nlohmann::ordered_json::array()},
      {"tensors", nlohmann::ordered_json::array()},
  };
  if (!manifest.config.empty())
    root["config"] = manifest.config;
  for (const auto &[cause, seconds] : run.spent) // their sums may be larger than the reader accepts
    root["spent_s"][cause] = std::min(seconds, kMostSpentSeconds);
  for (const auto &[axis, size] : manifest.mesh)
    root["mesh"].push_back({{"axis", axis}, {"size", size}});
  for (size_t i = 0; i < manifest.shards.size(); ++i)
    root["shards"].push_back({{"file", shardFile(i)},
                              {"bytes", manifest.shards[i].bytes},
                              {"xxh3_128", manifest.shards[i].hashes}});
  for (const CheckpointTensor &tensor : manifest.tensors) {
    nlohmann::ordered_json entry = {{"name", tensor.name},
                                    {"kind", tensor.isParameter ? "parameter" : "state"},
                                    {"dtype", tensor.dtype},
                                    {"shape", tensor.shape},
                                    {"stored_shape", tensor.storedShape},
                                    {"pieces", nlohmann::ordered_json::array()}};
    if (!tensor.copyOf.empty())
      entry["copy_of"] = tensor.copyOf;
    for (const CheckpointPiece &piece : tensor.pieces)
      entry["pieces"].push_back({{"shard", piece.shard},
                                 {"offset", piece.offset},
                                 {"begin", piece.box.begin},
                                 {"extent", piece.box.extent}});
    root["tensors"].push_back(std::move(entry));
  }
  return root.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

} // namespace dtc::rt

// Makes a checkpoint from the weights in a Hugging Face folder.
#include "runtime/checkpoint/HuggingFaceImport.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/checkpoint/Layout.h"
#include "runtime/checkpoint/MatchWeights.h"
#include "runtime/checkpoint/WeightFiles.h"
#include "runtime/checkpoint/WrittenWeights.h"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc::rt {
namespace {

using format::text;

// Writes a shard's file block by block.
class BlockWriter {
public:
  Status open(const std::string &path, uint64_t bytes) {
    DTC_RETURN_IF_ERROR(file.open(path));
    return file.reserve(bytes);
  }
  // Returns the space of the next bytes: at most `wanted`, at least 1.
  std::span<std::byte> next(uint64_t wanted) {
    size_t old = block.size();
    block.resize(old + std::min<uint64_t>(wanted, kCheckpointBlock - old));
    return std::span(block).subspan(old);
  }
  // Takes the bytes of next(), which the caller has filled.
  Status took() { return block.size() == kCheckpointBlock ? flush() : Status(); }
  Status finish(std::vector<std::string> &blockHashes) {
    if (!block.empty())
      DTC_RETURN_IF_ERROR(flush());
    blockHashes = std::move(hashes);
    return file.commit();
  }

private:
  Status flush() {
    hashes.push_back(hashOf(block));
    Status status = file.write(block.data(), block.size());
    block.clear();
    return status;
  }

  AtomicFile file;
  std::vector<std::byte> block;
  std::vector<std::string> hashes;
};

Status copyWeight(const Weight &weight, BlockWriter &out) {
  for (uint64_t at = 0, end = weight.entry->end - weight.entry->begin; at < end;) {
    std::span<std::byte> space = out.next(end - at);
    std::span<uint8_t> bytes(reinterpret_cast<uint8_t *>(space.data()), space.size());
    DTC_RETURN_IF_ERROR(weight.file->readBytes(*weight.entry, at, bytes));
    at += space.size();
    DTC_RETURN_IF_ERROR(out.took());
  }
  return {};
}

Status writeShard(const std::string &path, const CheckpointLayout::Shard &shard,
                  const std::vector<StoredTensor> &stored, std::vector<std::string> &hashes) {
  BlockWriter out;
  DTC_RETURN_IF_ERROR(out.open(path, shard.bytes));
  for (size_t at = 0; at < shard.header.size();) {
    std::span<std::byte> space = out.next(shard.header.size() - at);
    std::copy_n(reinterpret_cast<const std::byte *>(shard.header.data()) + at, space.size(),
                space.begin());
    at += space.size();
    DTC_RETURN_IF_ERROR(out.took());
  }
  for (const OwnedPiece &piece : shard.pieces) // whole tensors, as one rank has all
    for (const Weight &part : stored[piece.source].parts)
      DTC_RETURN_IF_ERROR(copyWeight(part, out));
  return out.finish(hashes);
}

Status writeCheckpoint(CheckpointFolder &folder, const std::string &path,
                       const CheckpointLayout &layout, const std::vector<StoredTensor> &stored,
                       CheckpointManifest &manifest) {
  DTC_RETURN_IF_ERROR(folder.begin(0));
  for (size_t i = 0; i < layout.shards.size(); ++i) {
    CheckpointShard &shard = manifest.shards.emplace_back();
    shard.bytes = layout.shards[i].bytes;
    DTC_RETURN_IF_ERROR(writeShard(text(CheckpointFolder::writingPath(path, 0), "/", shardFile(i)),
                                   layout.shards[i], stored, shard.hashes));
  }
  return folder.commit(0, toJson(manifest));
}

// Sets the dtype of each parameter, whose elements all have one.
Status readDtypes(const WeightFiles &files, const std::vector<StoredTensor> &stored,
                  std::vector<TensorSpec> &parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const SafetensorsEntry &first = *stored[i].parts.front().entry;
    parameters[i].dtype = first.dtype;
    for (const Weight &part : stored[i].parts)
      if (part.entry->dtype != first.dtype)
        return Status::invalidArgument(text("loading '", files.path(), "': '", first.name, "' is ",
                                            first.dtype, " and '", part.entry->name, "' is ",
                                            part.entry->dtype, ", wanted one dtype for both"));
  }
  return {};
}

} // namespace

Status importHuggingFace(const std::string &from, const std::string &model,
                         const std::string &config, std::vector<TensorSpec> parameters,
                         const std::string &folder, WrittenWeights &written) {
  WeightFiles files;
  DTC_RETURN_IF_ERROR(files.open(from));
  std::vector<StoredTensor> stored;
  DTC_RETURN_IF_ERROR(matchWeights(files, parameters, stored));
  DTC_RETURN_IF_ERROR(readDtypes(files, stored, parameters));
  std::vector<CheckpointSource> sources;
  for (const TensorSpec &spec : parameters)
    sources.push_back({spec, /*isParameter=*/true, ""});
  CheckpointLayout layout;
  DTC_RETURN_IF_ERROR(layOut(sources, format::RankMesh(std::vector<uint32_t>{1}), layout));
  std::vector<uint64_t> steps;
  DTC_RETURN_IF_ERROR(CheckpointFolder::steps(folder, steps));
  if (!steps.empty())
    return Status::invalidArgument(text("writing '", folder,
                                        "': it has checkpoints of a run up to step ", steps.front(),
                                        "; name another folder"));
  struct stat before;
  bool wasThere = ::stat(folder.c_str(), &before) == 0;
  CheckpointFolder target;
  DTC_RETURN_IF_ERROR(target.openForWriting(folder));
  CheckpointManifest manifest;
  manifest.producer = "dtc";
  manifest.model = model;
  manifest.config = config;
  manifest.tensors = layout.tensors;
  Status status = writeCheckpoint(target, folder, layout, stored, manifest);
  if (!status.ok()) {
    target.discard(0);
    if (!wasThere)
      ::rmdir(folder.c_str()); // fails, as it should, if the folder has anything
    return status;
  }
  for (const StoredTensor &tensor : stored)
    written.tensors += tensor.parts.size();
  written.files = layout.shards.size();
  written.bytes = manifest.bytes();
  return {};
}

} // namespace dtc::rt

// Gathers shards on rank 0 and writes them as whole tensors; one with a "*" in its name as several.
#include "runtime/checkpoint/ParameterDump.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/MatchWeights.h"
#include "runtime/checkpoint/SafetensorsRead.h"
#include "runtime/checkpoint/SafetensorsWrite.h"
#include "runtime/checkpoint/WeightFiles.h"
#include "runtime/comm/Agree.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

class ParameterDump::Writer {
public:
  Writer(std::vector<TensorSpec> tensors, format::RankMesh mesh, Control &world)
      : tensors(std::move(tensors)), mesh(std::move(mesh)), world(world) {}

  Status open(const std::string &wanted, const std::map<std::string, std::string> &metadata);
  Status write(const ShardReader &read);
  const std::string &target() const { return file.target(); }

private:
  Status check();
  Status agreeOnTensors();
  Status openFile(const std::map<std::string, std::string> &metadata);
  // Returns the ranks that send their shards, ascending: of those that hold the same one, the
  // first.
  std::vector<int> ownersOf(const TensorSpec &spec) const;
  // Gathers one tensor; `status` is of this rank alone, the result of the communication.
  Status gather(size_t index, const ShardReader &read, Status &status);
  Status receiveShards(const TensorSpec &spec, std::span<const int> owners,
                       std::vector<float> &whole, Status &status);

  std::vector<TensorSpec> tensors;
  format::RankMesh mesh;
  Control &world;
  std::string path;
  std::vector<size_t> order; // tensors by name
  SafetensorsWriter file;
};

Status ParameterDump::Writer::check() {
  if (uint64_t ranks = mesh.numRanks(); ranks != static_cast<uint64_t>(world.size()))
    return Status::invalidArgument(
        text("writing '", path, "': the mesh has ", ranks, " ranks, the job ", world.size()));
  for (const TensorSpec &spec : tensors)
    DTC_RETURN_IF_ERROR(checkTensorSpec(spec, mesh.sizes()));
  order.resize(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensors[a].name < tensors[b].name; });
  return Status::okStatus();
}

Status ParameterDump::Writer::agreeOnTensors() {
  std::string all;
  for (size_t index : order) {
    const TensorSpec &spec = tensors[index];
    all += text(spec.name, "\n", spec.dtype, " ");
    for (const auto *shape : {&spec.globalShape, &spec.storedShape, &spec.localShape})
      for (uint64_t size : *shape)
        all += text(size, " ");
    for (const ShardedDim &shard : spec.shards)
      all += text(shard.dim, "/", shard.axis, shard.zigzag ? "z " : " ");
    for (uint32_t holder : spec.holders)
      all += text(holder, " ");
  }
  auto hash = static_cast<int64_t>(XXH3_64bits(all.data(), all.size()));
  int64_t largest[2] = {hash, ~hash};
  DTC_RETURN_IF_ERROR(world.largest(largest));
  // The largest of the complements is the complement of the smallest.
  if (largest[0] != ~largest[1])
    return Status::internal(text("writing '", path, "': the ranks hold different tensors"));
  return Status::okStatus();
}

Status ParameterDump::Writer::openFile(const std::map<std::string, std::string> &metadata) {
  if (world.rank() != 0)
    return Status::okStatus();
  std::vector<SafetensorsTensor> entries;
  for (size_t index : order) {
    const TensorSpec &spec = tensors[index];
    std::vector<uint64_t> shape = spec.storedShape;
    bool isSeveral = spec.name.find('*') != std::string::npos && !shape.empty();
    uint64_t count = isSeveral ? shape.front() : 1;
    if (isSeveral)
      shape.erase(shape.begin());
    for (uint64_t part = 0; part < count; ++part)
      entries.push_back({memberOf(spec.name, part), shape, spec.dtype});
  }
  return file.open(path, entries, metadata);
}

std::vector<int> ParameterDump::Writer::ownersOf(const TensorSpec &spec) const {
  std::vector<int> owners;
  std::set<std::vector<uint32_t>> found; // coordinates on the axes that split the tensor
  for (int rank = 0; rank < world.size(); ++rank) {
    if (!spec.isHeldBy(static_cast<uint32_t>(rank)))
      continue;
    std::vector<uint32_t> at = mesh.coordinatesOf(static_cast<uint32_t>(rank)), shard;
    for (const ShardedDim &split : spec.shards)
      shard.push_back(at[split.axis]);
    if (found.insert(std::move(shard)).second)
      owners.push_back(rank);
  }
  return owners;
}

// Copies the elements of the rank at `at` from its padded shard into the whole tensor.
static void place(const TensorSpec &spec, std::span<const uint32_t> meshSizes,
                  std::span<const uint32_t> at, const std::vector<float> &local,
                  std::vector<float> &whole) {
  std::vector<ShardBox> boxes;
  if (!shardBoxes(spec, meshSizes, at, boxes).ok())
    return; // checked before
  forEachRun(spec, boxes, [&](uint64_t global, uint64_t from, uint64_t length) {
    std::copy_n(local.begin() + static_cast<ptrdiff_t>(from), length,
                whole.begin() + static_cast<ptrdiff_t>(global));
  });
}

Status ParameterDump::Writer::receiveShards(const TensorSpec &spec, std::span<const int> owners,
                                            std::vector<float> &whole, Status &status) {
  std::vector<float> local(elementCount(spec.localShape));
  for (int rank : owners) {
    if (rank == 0)
      continue;
    std::vector<uint32_t> at = mesh.coordinatesOf(static_cast<uint32_t>(rank));
    DTC_RETURN_IF_ERROR(world.receive(local.data(), local.size(), DataType::F32, rank));
    if (status.ok())
      place(spec, mesh.sizes(), at, local, whole);
  }
  return Status::okStatus();
}

Status ParameterDump::Writer::gather(size_t index, const ShardReader &read, Status &status) {
  const TensorSpec &spec = tensors[index];
  std::vector<int> owners = ownersOf(spec);
  bool isOwner = std::binary_search(owners.begin(), owners.end(), world.rank());
  if (!isOwner && world.rank() != 0)
    return Status::okStatus();
  std::vector<float> local(isOwner ? elementCount(spec.localShape) : 0);
  if (isOwner)
    status = read(index, local);
  // A rank that could not read sends all the same: the others cannot know yet.
  if (world.rank() != 0)
    return world.send(local.data(), local.size(), DataType::F32, 0);
  if (spec.shards.empty() && isOwner) {
    if (status.ok())
      status = file.write(local);
    return Status::okStatus();
  }
  std::vector<float> whole(elementCount(spec.globalShape));
  if (status.ok() && isOwner)
    place(spec, mesh.sizes(), mesh.coordinatesOf(static_cast<uint32_t>(world.rank())), local,
          whole);
  local = {};
  DTC_RETURN_IF_ERROR(receiveShards(spec, owners, whole, status));
  if (status.ok())
    status = file.write(whole);
  return Status::okStatus();
}

Status ParameterDump::Writer::open(const std::string &wanted,
                                   const std::map<std::string, std::string> &metadata) {
  path = wanted;
  DTC_RETURN_IF_ERROR(agree(world, check()));
  DTC_RETURN_IF_ERROR(agreeOnTensors());
  return agree(world, openFile(metadata));
}

Status ParameterDump::Writer::write(const ShardReader &read) {
  for (size_t index : order) {
    Status status;
    DTC_RETURN_IF_ERROR(gather(index, read, status));
    // After each tensor, so that no rank waits longer than for one.
    DTC_RETURN_IF_ERROR(agree(world, status));
  }
  return agree(world, world.rank() == 0 ? file.finish() : Status::okStatus());
}

ParameterDump::ParameterDump(std::vector<TensorSpec> tensors, format::RankMesh mesh, Control &world)
    : writer(std::make_unique<Writer>(std::move(tensors), std::move(mesh), world)) {}
ParameterDump::~ParameterDump() = default;

Status ParameterDump::open(const std::string &path,
                           const std::map<std::string, std::string> &metadata) {
  return writer->open(path, metadata);
}
Status ParameterDump::write(const ShardReader &read) { return writer->write(read); }
const std::string &ParameterDump::target() const { return writer->target(); }

} // namespace dtc::rt

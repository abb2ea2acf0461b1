// Geometry of shards.
#include "runtime/base/TensorSpec.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace dtc::rt {
using format::text;

bool TensorSpec::isHeldBy(uint32_t rank) const {
  return holders.empty() || std::binary_search(holders.begin(), holders.end(), rank);
}

uint64_t elementCount(std::span<const uint64_t> shape) {
  uint64_t count = 1;
  for (uint64_t size : shape)
    count *= size;
  return count;
}

// Returns the number of elements of `shape`, or an overflow.
static format::Checked checkedCount(std::span<const uint64_t> shape) {
  format::Checked count = 1;
  for (uint64_t size : shape)
    count = count * size;
  return count;
}

// The split of one dimension: axes outermost first.
struct DimShards {
  std::vector<ShardedDim> axes;
  uint64_t ranks = 1, pieces = 1;

  uint64_t pieceSize(uint64_t size) const {
    uint64_t all = ranks * pieces;
    return size / all + (size % all != 0);
  }
};

static DimShards shardsOf(const TensorSpec &spec, std::span<const uint32_t> meshSizes, size_t dim) {
  DimShards result;
  for (const ShardedDim &shard : spec.shards) {
    if (shard.dim != dim || meshSizes[shard.axis] == 1)
      continue;
    result.axes.push_back(shard);
    result.ranks *= meshSizes[shard.axis];
    result.pieces *= shard.zigzag ? 2 : 1;
  }
  return result;
}

static Status checkShards(const TensorSpec &spec, std::span<const uint32_t> meshSizes) {
  for (size_t i = 0; i < spec.shards.size(); ++i) {
    const ShardedDim &shard = spec.shards[i];
    if (shard.dim >= spec.globalShape.size())
      return Status::invalidArgument(text("tensor '", spec.name, "' is sharded on dimension ",
                                          shard.dim, ", but has ", spec.globalShape.size(),
                                          " dimensions"));
    if (shard.axis >= meshSizes.size())
      return Status::invalidArgument(text("tensor '", spec.name, "' is sharded over mesh axis ",
                                          shard.axis, ", but the mesh has ", meshSizes.size(),
                                          " axes"));
    if (meshSizes[shard.axis] == 0)
      return Status::invalidArgument(text("tensor '", spec.name, "' is sharded over mesh axis ",
                                          shard.axis, ", which has no ranks"));
    for (size_t j = 0; j < i; ++j) {
      const ShardedDim &before = spec.shards[j];
      if (before.axis == shard.axis)
        return Status::invalidArgument(text("tensor '", spec.name, "' shards dimension ", shard.dim,
                                            " over mesh axis ", shard.axis,
                                            ", which it uses already"));
      if (before.dim == shard.dim && before.zigzag && shard.zigzag)
        return Status::invalidArgument(text("tensor '", spec.name, "' shards dimension ", shard.dim,
                                            " zigzag over two mesh axes; wanted one at most"));
    }
  }
  return Status::okStatus();
}

Status checkTensorSpec(const TensorSpec &spec, std::span<const uint32_t> meshSizes) {
  if (spec.localShape.size() != spec.globalShape.size())
    return Status::invalidArgument(text("tensor '", spec.name, "' has ", spec.globalShape.size(),
                                        " dimensions, but its local shape has ",
                                        spec.localShape.size()));
  DTC_RETURN_IF_ERROR(checkShards(spec, meshSizes));
  format::Checked global = checkedCount(spec.globalShape), stored = checkedCount(spec.storedShape);
  if (!global.ok() || !checkedCount(spec.localShape).ok())
    return Status::invalidArgument(
        text("tensor '", spec.name, "' has more elements than 64 bits count"));
  if (!stored.ok() || stored.value() != global.value())
    return Status::invalidArgument(text("tensor '", spec.name, "' has ", global.value(),
                                        " elements, but its stored shape has another number"));
  for (size_t dim = 0; dim < spec.globalShape.size(); ++dim) {
    DimShards shards = shardsOf(spec, meshSizes, dim);
    uint64_t size = spec.globalShape[dim], wanted = shards.pieceSize(size) * shards.pieces;
    if (spec.localShape[dim] != wanted)
      return Status::invalidArgument(text("tensor '", spec.name, "' has local size ",
                                          spec.localShape[dim], " in dimension ", dim, "; wanted ",
                                          wanted, " (", size, " over ", shards.ranks, ")"));
  }
  return Status::okStatus();
}

// Returns the start of piece `piece` of the rank's part in the whole dimension: from the inside
// out, a step on an axis passes all pieces of the axes inside of it.
static uint64_t pieceStart(const DimShards &shards, uint64_t pieceSize, uint64_t piece,
                           std::span<const uint32_t> meshSizes,
                           std::span<const uint32_t> coordinates) {
  uint64_t start = 0, stride = pieceSize;
  for (size_t i = shards.axes.size(); i-- > 0;) {
    const ShardedDim &shard = shards.axes[i];
    uint64_t chunks = meshSizes[shard.axis] * (shard.zigzag ? 2ull : 1ull);
    uint64_t chunk = coordinates[shard.axis];
    start += (shard.zigzag && piece == 1 ? chunks - 1 - chunk : chunk) * stride;
    stride *= chunks;
  }
  return start;
}

Status shardBoxes(const TensorSpec &spec, std::span<const uint32_t> meshSizes,
                  std::span<const uint32_t> coordinates, std::vector<ShardBox> &boxes) {
  if (coordinates.size() != meshSizes.size())
    return Status::invalidArgument(text("tensor '", spec.name, "': the rank has ",
                                        coordinates.size(), " coordinates on a mesh of ",
                                        meshSizes.size(), " axes"));
  boxes.assign(1, {});
  for (size_t dim = 0; dim < spec.globalShape.size(); ++dim) {
    DimShards shards = shardsOf(spec, meshSizes, dim);
    uint64_t global = spec.globalShape[dim], size = shards.pieceSize(global);
    std::vector<ShardBox> longer;
    for (const ShardBox &box : boxes)
      for (uint64_t piece = 0; piece < shards.pieces; ++piece) {
        uint64_t begin = std::min(global, pieceStart(shards, size, piece, meshSizes, coordinates));
        longer.push_back(box);
        longer.back().begin.push_back(begin);
        longer.back().local.push_back(piece * size);
        longer.back().extent.push_back(std::min(size, global - begin));
      }
    boxes = std::move(longer);
  }
  return Status::okStatus();
}

uint64_t elementCount(std::span<const ShardBox> boxes) {
  uint64_t count = 0;
  for (const ShardBox &box : boxes)
    count += elementCount(box.extent);
  return count;
}

void forEachRun(std::span<const uint64_t> extent, const BoxInArray &from, const BoxInArray &to,
                const std::function<void(uint64_t, uint64_t, uint64_t)> &run) {
  size_t dims = extent.size();
  // 1. Dims after `inner` are whole in both arrays: they and `inner` make one run.
  size_t inner = dims;
  uint64_t length = 1;
  while (inner > 0) {
    --inner;
    length *= extent[inner];
    if (extent[inner] != from.shape[inner] || extent[inner] != to.shape[inner])
      break;
  }
  // 2. Step over the dims before it as over the digits of a number.
  std::vector<uint64_t> index(inner, 0);
  for (;;) {
    uint64_t source = 0, target = 0;
    for (size_t dim = 0; dim < dims; ++dim) {
      uint64_t digit = dim < inner ? index[dim] : 0;
      source = source * from.shape[dim] + from.at[dim] + digit;
      target = target * to.shape[dim] + to.at[dim] + digit;
    }
    run(source, target, length);
    size_t dim = inner;
    while (dim > 0 && ++index[dim - 1] == extent[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

static void forEachRunOf(const TensorSpec &spec, const ShardBox &box,
                         const std::function<void(uint64_t, uint64_t, uint64_t)> &run) {
  if (elementCount(box.extent) > 0)
    forEachRun(box.extent, {spec.globalShape, box.begin}, {spec.localShape, box.local}, run);
}

void forEachRun(const TensorSpec &spec, std::span<const ShardBox> boxes,
                const std::function<void(uint64_t, uint64_t, uint64_t)> &run) {
  for (const ShardBox &box : boxes)
    forEachRunOf(spec, box, run);
}

} // namespace dtc::rt

// Geometry of shards.
#include "runtime/base/TensorSpec.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace dtc::rt {
using format::text;

uint64_t elementCount(std::span<const uint64_t> shape) {
  uint64_t count = 1;
  for (uint64_t size : shape)
    count *= size;
  return count;
}

// Elements of `shape`, or an overflow.
static format::Checked checkedCount(std::span<const uint64_t> shape) {
  format::Checked count = 1;
  for (uint64_t size : shape)
    count = count * size;
  return count;
}

static const ShardedDim *shardOf(const TensorSpec &spec, size_t dim) {
  for (const ShardedDim &shard : spec.shards)
    if (shard.dim == dim)
      return &shard;
  return nullptr;
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
    for (size_t j = 0; j < i; ++j)
      if (spec.shards[j].dim == shard.dim || spec.shards[j].axis == shard.axis)
        return Status::invalidArgument(text("tensor '", spec.name, "' shards dimension ", shard.dim,
                                            " over mesh axis ", shard.axis,
                                            ", one of which it uses already"));
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
    const ShardedDim *shard = shardOf(spec, dim);
    uint64_t parts = shard ? meshSizes[shard->axis] : 1;
    uint64_t size = spec.globalShape[dim];
    uint64_t wanted = parts ? size / parts + (size % parts != 0) : 0;
    if (parts == 0 || spec.localShape[dim] != wanted)
      return Status::invalidArgument(text("tensor '", spec.name, "' has local size ",
                                          spec.localShape[dim], " in dimension ", dim, "; wanted ",
                                          wanted, " (", size, " over ", parts, ")"));
  }
  return Status::okStatus();
}

Status shardBox(const TensorSpec &spec, std::span<const uint32_t> coordinates, ShardBox &box) {
  box.begin.assign(spec.globalShape.size(), 0);
  box.extent = spec.globalShape;
  for (const ShardedDim &shard : spec.shards) {
    if (shard.axis >= coordinates.size() || shard.dim >= spec.globalShape.size())
      return Status::invalidArgument(text("tensor '", spec.name, "' is sharded over mesh axis ",
                                          shard.axis, ", but the rank has ", coordinates.size(),
                                          " coordinates"));
    uint64_t global = spec.globalShape[shard.dim], local = spec.localShape[shard.dim];
    uint64_t begin = std::min(global, coordinates[shard.axis] * local);
    box.begin[shard.dim] = begin;
    box.extent[shard.dim] = std::min(local, global - begin);
  }
  return Status::okStatus();
}

void forEachRun(const TensorSpec &spec, const ShardBox &box,
                const std::function<void(uint64_t, uint64_t, uint64_t)> &run) {
  size_t dims = spec.globalShape.size();
  // 1. Dimensions after `inner` are whole, without padding: they and `inner` make one run.
  size_t inner = dims;
  uint64_t length = 1;
  while (inner > 0) {
    --inner;
    length *= box.extent[inner];
    if (box.extent[inner] != spec.globalShape[inner] || box.extent[inner] != spec.localShape[inner])
      break;
  }
  if (length == 0 || elementCount(box.extent) == 0)
    return;
  // 2. Step over the dimensions before it as over the digits of a number.
  std::vector<uint64_t> index(inner, 0);
  for (;;) {
    uint64_t global = 0, local = 0;
    for (size_t dim = 0; dim < dims; ++dim) {
      uint64_t digit = dim < inner ? index[dim] : 0;
      global = global * spec.globalShape[dim] + box.begin[dim] + digit;
      local = local * spec.localShape[dim] + digit;
    }
    run(global, local, length);
    size_t dim = inner;
    while (dim > 0 && ++index[dim - 1] == box.extent[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

std::vector<uint32_t> meshCoordinates(std::span<const uint32_t> meshSizes, uint32_t rank) {
  std::vector<uint32_t> coordinates(meshSizes.size());
  for (size_t axis = meshSizes.size(); axis-- > 0;) {
    coordinates[axis] = rank % meshSizes[axis];
    rank /= meshSizes[axis];
  }
  return coordinates;
}

} // namespace dtc::rt

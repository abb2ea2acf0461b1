// Reads whole, unsharded parameters of a safetensors file into shards: `--init`.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/TensorSpec.h"
#include "runtime/format/RankMesh.h"

#include <functional>
#include <span>
#include <string>

namespace dtc::rt {

// Copies this rank's shard of tensor `index` (localShape elements, padding included) to the
// executor's memory.
using ShardWriter = std::function<Status(size_t index, std::span<const float> local)>;

// Reads `path` and gives each tensor's shard for `rank` of the mesh to `write`, padding 0. Accepts
// F32, BF16 and F16 tensors, in one file or in a Hugging Face folder; names are matched as
// WeightFiles does. Several of `tensors` may have one name: a parameter and its copy in f32, which
// may be split otherwise. One InvalidArgument names every missing, unknown and misshaped tensor
// (the first few). `tensors` are those of all ranks; only those that this rank holds are given to
// `write`.
Status loadParameters(const std::string &path, std::span<const TensorSpec> tensors,
                      const format::RankMesh &mesh, uint32_t rank, const ShardWriter &write);

} // namespace dtc::rt

#include "runtime/checkpoint/Layout.h"

#include "runtime/checkpoint/SafetensorsWrite.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/SafetensorsRead.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace dtc::rt {
namespace {

using format::text;

// 1. Give each part of each tensor to one of the ranks that hold it.
// 2. Put what a rank owns one after another, wide elements first, so that each is aligned.
class Planner {
public:
  Planner(const std::vector<CheckpointSource> &sources, const format::RankMesh &mesh,
          CheckpointLayout &layout)
      : sources(sources), mesh(mesh), layout(layout) {}

  Status plan();

private:
  struct Owned {
    size_t source;
    ShardBox box;
  };
  Status checkSources();
  Status giveAway(size_t source);
  Status makeShard(uint32_t rank);

  const std::vector<CheckpointSource> &sources;
  const format::RankMesh &mesh;
  CheckpointLayout &layout;
  std::vector<size_t> order;                      // sources by name
  std::vector<size_t> indexOf;                    // index in layout.tensors of each source
  std::vector<std::vector<uint32_t>> coordinates; // per rank
  std::vector<std::vector<Owned>> ownedBy;        // per rank
  std::vector<uint64_t> bytesOf;                  // per rank
};

Status Planner::checkSources() {
  order.resize(sources.size());
  indexOf.resize(sources.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return sources[a].spec.name < sources[b].spec.name; });
  for (size_t i = 0; i < order.size(); ++i) {
    const CheckpointSource &source = sources[order[i]];
    DTC_RETURN_IF_ERROR(checkTensorSpec(source.spec, mesh.sizes()));
    if (i > 0 && sources[order[i - 1]].spec.name == source.spec.name)
      return Status::internal(
          text("two tensors of a checkpoint would be named '", source.spec.name, "'"));
    indexOf[order[i]] = i;
    layout.tensors.push_back({source.spec.name,
                              source.spec.dtype,
                              source.isParameter,
                              source.copyOf,
                              source.spec.globalShape,
                              source.spec.storedShape,
                              {}});
  }
  return {};
}

Status Planner::giveAway(size_t source) {
  const TensorSpec &spec = sources[source].spec;
  // The ranks of each part, keyed by their coordinates on the axes that split it.
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> holders;
  for (uint32_t rank = 0; rank < coordinates.size(); ++rank) {
    if (!spec.isHeldBy(rank))
      continue;
    std::vector<uint32_t> part;
    for (const ShardedDim &split : spec.shards)
      part.push_back(coordinates[rank][split.axis]);
    holders[part].push_back(rank);
  }
  uint64_t width = layout.tensors[indexOf[source]].width();
  for (const auto &[part, ranks] : holders) {
    uint32_t owner = *std::min_element(ranks.begin(), ranks.end(), [&](uint32_t a, uint32_t b) {
      return bytesOf[a] < bytesOf[b];
    });
    std::vector<ShardBox> boxes;
    DTC_RETURN_IF_ERROR(shardBoxes(spec, mesh.sizes(), coordinates[owner], boxes));
    for (ShardBox &box : boxes) {
      uint64_t elements = elementCount(box.extent);
      if (elements == 0)
        continue; // only padding
      bytesOf[owner] += elements * width;
      ownedBy[owner].push_back({source, std::move(box)});
    }
  }
  return {};
}

Status Planner::makeShard(uint32_t rank) {
  std::vector<Owned> &owned = ownedBy[rank];
  if (owned.empty())
    return {};
  auto number = static_cast<uint32_t>(layout.shards.size());
  auto tensorOf = [&](const Owned &piece) -> CheckpointTensor & {
    return layout.tensors[indexOf[piece.source]];
  };
  std::sort(owned.begin(), owned.end(), [&](const Owned &a, const Owned &b) {
    uint64_t left = tensorOf(a).width(), right = tensorOf(b).width();
    return left != right ? left > right
                         : std::tie(indexOf[a.source], a.box.begin) <
                               std::tie(indexOf[b.source], b.box.begin);
  });
  CheckpointLayout::Shard &shard = layout.shards.emplace_back();
  shard.rank = static_cast<int>(rank);
  std::vector<SafetensorsTensor> entries;
  for (const Owned &piece : owned) {
    CheckpointTensor &tensor = tensorOf(piece);
    tensor.pieces.push_back({number, 0, {piece.box.begin, piece.box.extent}});
    entries.push_back({entryName(tensor, tensor.pieces.back()), piece.box.extent, tensor.dtype});
  }
  uint64_t tensorBytes = 0;
  DTC_RETURN_IF_ERROR(makeSafetensorsHeader(shardFile(number), entries, {{"format", "pt"}},
                                            shard.header, tensorBytes));
  shard.bytes = shard.header.size() + tensorBytes;
  uint64_t offset = shard.header.size();
  std::map<size_t, size_t> seen; // pieces of a tensor in this shard so far
  for (const Owned &piece : owned) {
    CheckpointTensor &tensor = tensorOf(piece);
    auto first = std::find_if(tensor.pieces.begin(), tensor.pieces.end(),
                              [&](const CheckpointPiece &of) { return of.shard == number; });
    first[static_cast<ptrdiff_t>(seen[piece.source]++)].offset = offset;
    shard.pieces.push_back({piece.source, offset, piece.box.local, piece.box.extent});
    offset += elementCount(piece.box.extent) * tensor.width();
  }
  return {};
}

Status Planner::plan() {
  DTC_RETURN_IF_ERROR(checkSources());
  auto ranks = static_cast<uint32_t>(mesh.numRanks());
  for (uint32_t rank = 0; rank < ranks; ++rank)
    coordinates.push_back(mesh.coordinatesOf(rank));
  ownedBy.resize(ranks);
  bytesOf.resize(ranks);
  for (size_t source : order)
    DTC_RETURN_IF_ERROR(giveAway(source));
  for (uint32_t rank = 0; rank < ranks; ++rank)
    DTC_RETURN_IF_ERROR(makeShard(rank));
  return {};
}

} // namespace

Status layOut(const std::vector<CheckpointSource> &sources, const format::RankMesh &mesh,
              CheckpointLayout &layout) {
  layout = {};
  return Planner(sources, mesh, layout).plan();
}

} // namespace dtc::rt

// Expresses ZeRO as placements.
// - Optimizer state is split over the data axis, whose ranks hold the same parameters and would all
//   compute the same update. The gradient is then needed split too, which makes its all-reduce a
//   reduce-scatter, and the new parameter is gathered: as many bytes as before.
// - If gradients are split as soon as they are made, no rank holds all of them.
// - If the storage placement of parameters is split too, they are gathered for each use.
// - If data parallelism has two axes, its groups hold copies and the ranks of a group hold the
//   shards.
// - Where experts are on several ranks, these hold shards of all but the experts, too.
// - Ranks that share sequences hold shards of everything.
//
// Source: Rajbhandari et al. 2019, arXiv:1910.02054, section 5; Zhao et al. 2023, arXiv:2304.11277,
// section 3.2.
#include "passes/shard/StatePlacement.h"

#include "passes/shard/Partition.h"

#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/StateAttributes.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns the largest dim of the parameter's local tensor that divides evenly, else the largest
// one; -1 if every dim is split already.
int64_t bestDim(RankedTensorType global, const Placement &placement, const Mesh &mesh,
                int64_t parts) {
  RankedTensorType local = localType(global, placement, mesh);
  int64_t best = -1;
  auto better = [&](int64_t dim) {
    if (best < 0)
      return true;
    bool divides = local.getDimSize(dim) % parts == 0,
         bestDivides = local.getDimSize(best) % parts == 0;
    return divides != bestDivides ? divides : local.getDimSize(dim) > local.getDimSize(best);
  };
  for (int64_t dim = 0; dim < local.getRank(); ++dim)
    if (partsOf(placement, mesh, dim) == 1 && local.getDimSize(dim) > 1 && better(dim))
      best = dim;
  return best;
}

// The axes over which ZeRO may spread a tensor, and their ranks.
struct FreeAxes {
  SmallVector<unsigned, 2> axes;
  int64_t parts = 1;
};

FreeAxes freeAxes(const Placement &placement, const Mesh &mesh) {
  FreeAxes free;
  for (unsigned axis : shardAxes(mesh))
    if (placement[axis].isReplicate()) {
      free.axes.push_back(axis);
      free.parts *= mesh.sizes[axis];
    }
  return free;
}

} // namespace

SmallVector<unsigned, 2> shardAxes(const Mesh &mesh) {
  SmallVector<unsigned, 2> axes = mesh.axesOf(AxisRole::Data);
  if (axes.size() > 1)
    axes.erase(axes.begin(), axes.end() - 1);
  llvm::append_range(axes, mesh.axesOf(AxisRole::Expert));
  llvm::append_range(axes, mesh.axesOf(AxisRole::Context));
  return axes;
}

Placement shardedAtRest(RankedTensorType global, const Placement &inUse, const Mesh &mesh) {
  auto [axes, parts] = freeAxes(inUse, mesh);
  if (parts == 1)
    return inUse;
  bool isFirst =
      global.getRank() > 0 && partsOf(inUse, mesh, 0) == 1 && global.getDimSize(0) >= parts;
  int64_t dim = isFirst ? 0 : bestDim(global, inUse, mesh, parts);
  Placement placement = inUse;
  for (unsigned axis : axes)
    if (dim >= 0)
      placement[axis] = AxisPlacement::shard(dim);
  return placement;
}

void assignStatePlacements(ModuleOp module, const Mesh &mesh) {
  auto zero = module->getAttrOfType<IntegerAttr>(graph::kZeroAttr);
  // All states of a parameter are split alike. Where some of them have a number for each block of
  // elements, those decide, so that every rank has whole blocks.
  llvm::StringMap<RankedTensorType> ofBlocks;
  for (auto state : module.getOps<graph::StateOp>())
    if (state->hasAttr(graph::kBlockAttr))
      ofBlocks[*state.getParameter()] = cast<RankedTensorType>(state.getType());
  for (auto state : module.getOps<graph::StateOp>()) {
    if (!state.getParameter()) {
      state.setPlacementAttr(toAttr(module.getContext(), replicated(mesh)));
      continue;
    }
    bool isByRank = state->hasAttr(graph::kByRankAttr);
    if (isByRank || state->hasAttr(graph::kOwnShapeAttr)) {
      Placement placement = replicated(mesh);
      for (unsigned axis : mesh.axesOf(AxisRole::Data))
        if (isByRank)
          placement[axis] = AxisPlacement::shard(0);
      state.setPlacementAttr(toAttr(module.getContext(), placement));
      continue;
    }
    auto parameter = module.lookupSymbol<graph::ParameterOp>(*state.getParameter());
    Placement placement = fromAttr(parameter.getPlacementAttr(), mesh);
    auto [axes, parts] = freeAxes(placement, mesh);
    if (zero && zero.getInt() >= 1 && parts > 1) {
      RankedTensorType type = ofBlocks.lookup(*state.getParameter());
      if (!type)
        type = cast<RankedTensorType>(state.getType());
      int64_t dim = bestDim(type, placement, mesh, parts);
      for (unsigned axis : axes)
        if (dim >= 0)
          placement[axis] = AxisPlacement::shard(dim);
    }
    state.setPlacementAttr(toAttr(module.getContext(), placement));
  }
}

} // namespace dtc

// ZeRO-1 as a placement: optimizer state is split over the data axis, whose ranks hold the same
// parameters and would all do the same update. The gradient is then wanted split too, which makes
// its all-reduce a reduce-scatter, and the new parameter is gathered: as many bytes as before.
// Source: Rajbhandari et al. 2019, arXiv:1910.02054, section 5.1.
#include "passes/shard/Partition.h"

using namespace mlir;

namespace dtc {
namespace {

// The dim of the parameter's local part that is largest among those that divide evenly, else the
// largest; -1 when every dim is split already.
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

} // namespace

void assignStatePlacements(ModuleOp module, const Mesh &mesh) {
  auto zero = module->getAttrOfType<IntegerAttr>(graph::kZeroAttr);
  int axis = mesh.axisOf(AxisRole::Data);
  for (auto state : module.getOps<graph::StateOp>()) {
    if (!state.getParameter()) {
      state.setPlacementAttr(toAttr(module.getContext(), replicated(mesh)));
      continue;
    }
    auto parameter = module.lookupSymbol<graph::ParameterOp>(*state.getParameter());
    Placement placement = fromAttr(parameter.getPlacementAttr(), mesh);
    if (zero && zero.getInt() >= 1 && axis >= 0 && mesh.sizes[axis] > 1 &&
        placement[axis].isReplicate()) {
      int64_t dim =
          bestDim(cast<RankedTensorType>(state.getType()), placement, mesh, mesh.sizes[axis]);
      if (dim >= 0)
        placement[axis] = AxisPlacement::shard(dim);
    }
    state.setPlacementAttr(toAttr(module.getContext(), placement));
  }
}

} // namespace dtc

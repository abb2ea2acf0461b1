// Decides the placement of every tensor in a step (pass dtc-place).
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/MeshGroups.h"
#include "compiler/search/placement/PlaceStep.h"
#include "compiler/search/planner/DeviceCosts.h"
#include "compiler/search/planner/Passes.h"
#include "compiler/search/planner/PlacementSearch.h"

namespace dtc {
#define GEN_PASS_DEF_PLACE
#include "compiler/search/planner/Passes.h.inc"

using namespace mlir;

namespace {

// Ranks are numbered with the last axis innermost.
std::vector<RankGroup> groupsOf(const Mesh &mesh) {
  std::vector<RankGroup> groups(mesh.numAxes());
  int64_t stride = 1;
  for (size_t axis = mesh.numAxes(); axis-- > 0; stride *= mesh.sizes[axis])
    groups[axis] = {{mesh.sizes[axis], stride}};
  return groups;
}

struct Place : impl::PlaceBase<Place> {
  using PlaceBase::PlaceBase;

  void runOnOperation() override {
    if (failed(place(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult place(ModuleOp module) {
    FailureOr<Mesh> mesh = readMesh(module);
    if (failed(mesh))
      return failure();
    Result<Topology> found = loadTopology(topology);
    if (!found)
      return module.emitError(found.error().message);
    int64_t nodes = llvm::divideCeil(mesh->numRanks(), found->devicesPerNode);
    if (nodes > found->nodes)
      found = loadTopology(topology, nodes);
    if (!found)
      return module.emitError(found.error().message);
    Result<SoftwareStack> software = loadStackFor("dtc", found->device);
    if (!software)
      return module.emitError(software.error().message);
    CellPrecision precision = cellPrecision(Precision::F32, OptimizerKind::AdamW, *software);
    std::vector<RankGroup> groups = groupsOf(*mesh);
    std::vector<RankGroup> tensorGroups;
    for (unsigned axis : mesh->axesOf(AxisRole::Tensor))
      tensorGroups.push_back(groups[axis]);
    PlacementPrices prices;
    if (!search)
      prices = megatronPrices(tensorGroups.empty() ? groups[0] : jointGroup(tensorGroups), *found,
                              module->hasAttr(graph::kSequenceParallelAttr));
    DeviceCosts costs(*mesh, groups, *found, precision, *software,
                      search ? CostWeights() : kBytesFirst);
    return placeStep(module, costs, prices,
                     search ? TensorPattern::Any : TensorPattern::SplitWeights);
  }
};

} // namespace
} // namespace dtc

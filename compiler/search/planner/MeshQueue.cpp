// Bounds meshes.
#include "compiler/search/planner/MeshQueue.h"

#include "compiler/price/estimate/SharedEstimates.h"
#include "compiler/search/planner/ContextKinds.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <optional>
#include <tuple>

namespace dtc {
namespace {

// Bounds meshes one after another; those with the same axes in a row.
class MeshBounder {
public:
  MeshBounder(const SearchInputs &inputs, MeshCosts &costs, double toBeat)
      : inputs(inputs), costs(costs), toBeat(toBeat) {}

  // Returns a lower bound in seconds of a mesh under one placement. Most meshes are visited once,
  // so the cost of one whose bound is not below `toBeat` is not kept; a mesh whose work alone is
  // not below it is not even costed. Returns infinity if another kind of context parallelism is
  // never worse.
  double leastOf(const Decisions &mesh) {
    if (!inputs.options.prune)
      return leastOf(costs.costOf(mesh), mesh, inputs.request);
    SharedEstimates shared; // of this mesh alone, and so small
    EstimateRequest request = inputs.request;
    request.shared = &shared;
    double floor = costs.floorOf(mesh, request);
    if (floor >= toBeat)
      return floor;
    const ModelCost *known = costs.find(mesh);
    std::optional<ModelCost> cost;
    if (!known)
      cost = costs.costAnew(mesh);
    const ModelCost &model = known ? *known : *cost;
    if (mesh.cp > 1 && contextKinds.isRuledOut(mesh, model))
      return std::numeric_limits<double>::infinity();
    double bound = leastOf(model, mesh, request);
    if (cost && bound < toBeat)
      costs.keep(mesh, std::move(*cost));
    return bound;
  }

private:
  double leastOf(const ModelCost &model, const Decisions &mesh,
                 const EstimateRequest &request) const {
    return leastOfSchedules(model, mesh, inputs.limits, inputs.pins, request);
  }

  const SearchInputs &inputs;
  MeshCosts &costs;
  double toBeat;
  ContextKinds contextKinds;
};

} // namespace

std::vector<BoundedMesh> boundMeshes(const SearchInputs &inputs, MeshCosts &costs, double toBeat) {
  MeshBounder bounder(inputs, costs, toBeat);
  std::vector<BoundedMesh> order;
  for (size_t index = 0; index < inputs.meshes.size(); ++index) {
    Decisions mesh = inputs.meshes[index];
    double bound = std::numeric_limits<double>::infinity();
    llvm::SmallVector<int, 4> points = costs.placementsOf(mesh);
    for (int point : points) {
      mesh.placement = point;
      bound = std::min(bound, bounder.leastOf(mesh));
    }
    if (!points.empty())
      order.push_back({index, bound});
  }
  llvm::sort(order, [](const BoundedMesh &a, const BoundedMesh &b) {
    return std::tie(a.bound, a.index) < std::tie(b.bound, b.index);
  });
  return order;
}

} // namespace dtc

// The placements that a parameter may have.
#include "compiler/search/placement/ParameterChoices.h"

#include "compiler/search/placement/AxisGroups.h"

using namespace mlir;

namespace dtc {

ParameterChoices::ParameterChoices(const PlacementProblem &problem, const WeightClasses &weights,
                                   const HeadOps &heads, const TextbookPattern &textbook)
    : mesh(problem.mesh), splitsWeights(problem.splitsWeights()),
      foldsExperts(problem.foldsExperts), tensorAxes(mesh.axesOf(AxisRole::Tensor)),
      weights(weights), heads(heads), textbook(textbook) {}

// Returns the placement in which the step uses a parameter, if it is fixed.
static graph::PlacementAttr inUse(graph::ParameterOp parameter) {
  return parameter.getInUseAttr() ? parameter.getInUseAttr() : parameter.getPlacementAttr();
}

static std::optional<Placement> placementOf(const WeightClasses::Class &weights, const Mesh &mesh) {
  for (graph::ParameterOp parameter : weights.parameters)
    if (graph::PlacementAttr attr = inUse(parameter))
      return fromAttr(attr, mesh);
  return std::nullopt;
}

FailureOr<std::vector<Placement>> ParameterChoices::of(unsigned weightClass) const {
  const WeightClasses::Class &entry = weights[weightClass];
  std::optional<Placement> given = placementOf(entry, mesh);
  if (!given)
    return possible(weightClass);
  graph::ParameterOp first = entry.parameters.front();
  for (graph::ParameterOp parameter : entry.parameters)
    if (fromAttr(inUse(parameter), mesh) != *given)
      return parameter.emitError()
             << "parameter '" << parameter.getSymName() << "' is placed otherwise than '"
             << first.getSymName()
             << "', which the same block reads as the same argument; give both the same placement";
  return std::vector<Placement>{*given};
}

std::vector<Placement> ParameterChoices::possible(unsigned weightClass) const {
  RankedTensorType type = weights[weightClass].type;
  std::vector<Placement> placements{replicated(mesh)};
  // One more for each way in which `axes`, which do nothing yet, split a dim.
  auto splitOver = [&](ArrayRef<unsigned> axes, const Placement &placement) {
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) >= ranksOf(axes, mesh) && partsOf(placement, mesh, dim) == 1) {
        placements.push_back(placement);
        for (unsigned axis : axes)
          placements.back()[axis] = AxisPlacement::shard(dim);
      }
  };
  for (ArrayRef<unsigned> axes : axesTogether(mesh))
    if (AxisRole role = mesh.roles[axes.front()];
        ranksOf(axes, mesh) > 1 && role != AxisRole::Data && role != AxisRole::Context)
      for (const Placement &placement : std::vector<Placement>(placements))
        splitOver(axes, placement);
  if (tensorAxes.size() < 2)
    return placements;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!heads.isHeadDim(weightClass, dim) || type.getDimSize(dim) < mesh.sizes[tensorAxes[0]])
      continue;
    Placement ofHeads = replicated(mesh);
    ofHeads[tensorAxes[0]] = AxisPlacement::shard(dim);
    placements.push_back(ofHeads);
    splitOver(ArrayRef<unsigned>(tensorAxes).drop_front(), ofHeads);
  }
  return placements;
}

bool ParameterChoices::isWhole(const Placement &placement) const {
  return llvm::none_of(tensorAxes, [&](unsigned axis) { return placement[axis].isShard(); });
}

// Returns true if no two ranks of tensor parallelism hold the same part, except where attention
// leaves no choice.
bool ParameterChoices::isSplitEnough(unsigned weightClass, const Placement &placement) const {
  return llvm::all_of(tensorAxes, [&](unsigned axis) {
    return placement[axis].isShard() ||
           (axis != tensorAxes.front() && !heads.splitsGroups() &&
            placement[tensorAxes.front()].isShard() &&
            heads.isHeadDim(weightClass, placement[tensorAxes.front()].dim));
  });
}

std::vector<bool> ParameterChoices::allowed(unsigned weightClass,
                                            ArrayRef<Placement> placements) const {
  auto isTextbook = [&](const Placement &placement) {
    return textbook.mayRest(weightClass, placement);
  };
  auto enough = [&](const Placement &placement) {
    return isSplitEnough(weightClass, placement) && isTextbook(placement);
  };
  std::vector<bool> list(placements.size(), true);
  if (foldsExperts && weights[weightClass].isOfExperts)
    llvm::transform(placements, list.begin(),
                    [&](const Placement &placement) { return isWhole(placement); });
  else if (splitsWeights && !tensorAxes.empty() &&
           (weights[weightClass].isInProduct || textbook.isTable(weightClass)) &&
           llvm::any_of(placements, enough))
    llvm::transform(placements, list.begin(), enough);
  else
    llvm::transform(placements, list.begin(), isTextbook);
  return list;
}

} // namespace dtc

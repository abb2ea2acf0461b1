// Solves the networks of a model's placements.
#include "compiler/search/planner/PlacementSearch.h"

#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/MeshGroups.h"
#include "compiler/search/placement/OpChoices.h"
#include "compiler/search/placement/PlaceStep.h"
#include "compiler/search/planner/DeviceCosts.h"
#include "passes/shard/StepMesh.h"

using namespace mlir;

namespace dtc {
namespace {

// Cost of saving a byte, relative to gathering it again. Without sequence parallelism, activations
// are whole, and none is split only to be gathered again; with it, a tensor gathered for forward is
// not saved for backward.
constexpr double kKeptWhole = 0.7, kKeptOfSequence = 1.05;
// Seconds of a byte of parameters and states. It is less than a gather for one use takes, so that
// vectors stay whole, and enough for embedding tables to be split.
constexpr double kMegatronsParameterByte = 1e-13;

OpSplits splitsOf(const PlacedStep &placed, ArrayRef<unsigned> axes) {
  OpSplits splits;
  for (const auto &[op, split] : placed.ops) {
    if (!isInPlans(op, cast<graph::RuleOpInterface>(op).getRule()))
      continue; // their consumers decide the placement
    std::vector<int> choices;
    for (unsigned axis : axes)
      choices.push_back(split[axis]);
    if (llvm::all_equal(choices))
      choices.resize(1);
    splits.functions[cast<graph::FuncOp>(op->getParentOp()).getSymName().str()].push_back(
        {op->getName().stripDialect().str(), std::move(choices)});
  }
  return splits;
}

// Returns the ranks of each mesh axis: the tensor-parallel axes divide `tp`, the last one
// innermost.
std::vector<RankGroup> groupsOn(const Mesh &mesh, const RankGroup &tp) {
  std::vector<RankGroup> groups(mesh.numAxes(), RankGroup{{1, 1}});
  int64_t stride = 1;
  SmallVector<unsigned, 2> axes = mesh.axesOf(AxisRole::Tensor);
  for (unsigned axis : llvm::reverse(axes)) {
    groups[axis] = partOfGroup(tp, mesh.sizes[axis], stride);
    stride *= mesh.sizes[axis];
  }
  return groups;
}

// The catalogue's DGX H100 with enough nodes for `ranks`, in bf16.
struct NominalBasis {
  explicit NominalBasis(int64_t ranks)
      : topology(*loadTopology("dgx-h100", llvm::divideCeil(ranks, 8), 0)),
        software(*loadStackFor("dtc", topology.device)),
        precision(cellPrecision(Precision::BF16, OptimizerKind::AdamW, software)) {}

  Topology topology;
  SoftwareStack software;
  CellPrecision precision;
};

} // namespace

PlacementPrices megatronPrices(const RankGroup &group, const Topology &topology,
                               bool sequenceParallel) {
  constexpr double bytes = 1 << 28; // large enough to hide latency
  double gathering = collectiveSeconds(CollectiveKind::AllGather, bytes, group, topology) / bytes;
  PlacementPrices prices;
  prices.secondsPerKeptByte =
      (sequenceParallel ? kKeptOfSequence : kKeptWhole) * kBytesFirst.collectives * gathering;
  prices.secondsPerParameterByte = kMegatronsParameterByte;
  return prices;
}

PlacementSearcher::PlacementSearcher(const FoldedModel &model) {
  ModuleOp source = *model.module;
  step = differentiateFolded(source);
}

std::optional<SearchedPlacements> PlacementSearcher::cheapest(int64_t tp, bool sequenceParallel,
                                                              const MemoryWorth &worth,
                                                              TensorPattern pattern,
                                                              const PlacementBasis &basis,
                                                              bool foldsExperts) const {
  if (!step)
    return std::nullopt;
  return SplitSearch(*step, tp, sequenceParallel, pattern, basis, foldsExperts).cheapest(worth);
}

SplitSearch::SplitSearch(ModuleOp step, int64_t tp, bool sequenceParallel, TensorPattern pattern,
                         const PlacementBasis &basis, bool foldsExperts)
    : step(step), pattern(pattern), tp(tp), mesh(stepMesh(step, {.tp = tp})),
      costs(mesh, groupsOn(mesh, basis.group), basis.topology, basis.precision, basis.software,
            basis.weights, basis.known),
      network({step, mesh, sequenceParallel, pattern, foldsExperts, nullptr, &costs}),
      isBuilt(succeeded(network.build())) {}

std::optional<SearchedPlacements> SplitSearch::cheapest(const MemoryWorth &worth) const {
  if (!isBuilt)
    return std::nullopt;
  PlacementPrices prices;
  prices.secondsPerKeptByte = worth.keptByte;
  prices.secondsPerParameterByte = worth.parameterByte;
  std::optional<std::vector<int32_t>> choice = cheapestChoice(network.problem(prices));
  if (!choice && pattern == TensorPattern::Textbook)
    emitError(ModuleOp(step).getLoc())
        << "Megatron's pattern of tensor parallelism does not split this model over " << tp
        << " ranks: a sum over them has to follow each product that is split by "
           "columns; use tp=1, or a stack that searches placements";
  if (!choice)
    return std::nullopt;
  PlacedStep placed = network.decode(*choice);
  SmallVector<unsigned, 2> axes = mesh.axesOf(AxisRole::Tensor);
  SearchedPlacements found{splitsOf(placed, axes), {}};
  for (const auto &[symbol, placement] : placed.parameters)
    for (unsigned axis : axes)
      found.parameters[symbol].push_back(placement[axis].isShard() ? placement[axis].dim : -1);
  return found;
}

std::optional<SearchedPlacements> PlacementSearcher::megatron(int64_t tp, bool sequenceParallel,
                                                              bool foldsExperts,
                                                              TensorPattern pattern) const {
  NominalBasis nominal(tp);
  RankGroup group{{tp, 1}};
  PlacementPrices prices = megatronPrices(group, nominal.topology, sequenceParallel);
  return cheapest(
      tp, sequenceParallel, {prices.secondsPerKeptByte, prices.secondsPerParameterByte}, pattern,
      {group, nominal.topology, nominal.precision, nominal.software, kBytesFirst}, foldsExperts);
}

TensorPattern patternOf(const SoftwareStack &software) {
  return software.searchesPlacements ? TensorPattern::SplitWeights : TensorPattern::Textbook;
}

std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel,
                                    bool foldsExperts, TensorPattern pattern) {
  SearchedPlacements placements;
  if (tp > 1) {
    std::optional<SearchedPlacements> found =
        PlacementSearcher(model).megatron(tp, sequenceParallel, foldsExperts, pattern);
    if (!found)
      return std::nullopt;
    placements = std::move(*found);
  }
  return readCells(model, tp, sequenceParallel, placements, foldsExperts);
}

} // namespace dtc

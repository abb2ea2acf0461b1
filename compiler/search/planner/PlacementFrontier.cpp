// Keeps the placements that nothing dominates.
#include "compiler/search/planner/PlacementFrontier.h"

#include "compiler/price/workload/ApplyStack.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

#include <array>

namespace dtc {
namespace {

// Prices of all activations of a micro-batch, and of all parameters, as shares of the seconds of a
// micro-batch: from free memory to scarce memory.
constexpr std::array<double, 3> kWorthOfKept = {0, 0.1, 0.5};
constexpr std::array<double, 3> kWorthOfParameters = {0.02, 1, 100};
constexpr size_t kMostPoints = 2;
// The largest ratio of a rank's parameters to those under Megatron's placements at which weights
// count as split.
constexpr double kSplitWeights = 1.05;

// The criteria by which points are compared, for the whole model and one sample.
struct Merits {
  double seconds = 0, kept = 0, parameters = 0, frozen = 0, sharedGradients = 0;

  bool atLeastAsGood(const Merits &other) const {
    constexpr double same = 1 + 1e-9;
    return seconds <= other.seconds * same && kept <= other.kept * same &&
           parameters <= other.parameters * same && frozen <= other.frozen * same &&
           sharedGradients <= other.sharedGradients * same;
  }
};

Merits meritsOf(const ModelCost &cost) {
  Merits merits;
  auto add = [&](const BlockCost &block) {
    merits.seconds += block.forward + block.backward() + block.forwardTp + block.backwardTp;
    merits.kept += block.kept;
    merits.parameters += block.denseParameters + block.expertParameters;
    merits.frozen += block.frozenDense + block.frozenExpert;
    merits.sharedGradients += block.sharedGradients;
  };
  add(cost.embedding);
  add(cost.head);
  for (int block : cost.cells->chain)
    add(cost.blocks[static_cast<size_t>(block)]);
  return merits;
}

} // namespace

const PlacementSearcher &CellStore::searcher() {
  if (!searching)
    searching = std::make_unique<PlacementSearcher>(model);
  return *searching;
}

std::optional<ModelCells> CellStore::read(int64_t tp, bool sequenceParallel,
                                          const SearchedPlacements &placements, bool foldsExperts,
                                          const RowExchange &exchange) {
  mlir::ModuleOp step = searcher().differentiated();
  if (exchange.ranks > 1) {
    auto [known, isNew] = exchanged.try_emplace(exchange);
    if (isNew)
      known->second = differentiateFolded(*model.module, exchange);
    step = known->second.get();
  }
  return step ? readCells(model, step, tp, sequenceParallel, placements, foldsExperts,
                          exchange.ranks)
              : std::nullopt;
}

const PlacementPoint *CellStore::point(int64_t tp, bool sequenceParallel, bool foldsExperts) {
  auto [it, isNew] = points.try_emplace({tp, sequenceParallel, foldsExperts});
  if (isNew) {
    std::optional<SearchedPlacements> placements =
        tp > 1 ? searcher().megatron(tp, sequenceParallel, foldsExperts, pattern)
               : SearchedPlacements();
    std::optional<ModelCells> cells =
        placements ? read(tp, sequenceParallel, *placements, foldsExperts) : std::nullopt;
    if (cells)
      it->second = {std::move(*placements), std::move(*cells)};
  }
  return it->second ? &*it->second : nullptr;
}

const std::vector<const PlacementPoint *> &PlacementFrontier::of(int64_t tp, bool sequenceParallel,
                                                                 bool foldsExperts) {
  TensorSplit split{tp, sequenceParallel, foldsExperts};
  auto [it, isNew] = points.try_emplace(split);
  const PlacementPoint *megatron =
      isNew ? store.point(tp, sequenceParallel, foldsExperts) : nullptr;
  if (!megatron)
    return it->second;
  it->second.push_back(megatron);
  if (tp > 1 && options.searches) {
    std::vector<PlacementPoint> &found = searched[split];
    found = search(split, megatron->cells);
    for (const PlacementPoint &point : found)
      it->second.push_back(&point);
  }
  return it->second;
}

const std::vector<const PlacementPoint *> &PlacementFrontier::of(const Decisions &d) {
  TensorSplit split = TensorSplit::of(d);
  const std::vector<const PlacementPoint *> &whole =
      of(split.tp, split.sequenceParallel, split.foldsExperts);
  RowExchange exchange = store.rowExchangeOf(d);
  if (exchange.ranks == 1)
    return whole;
  auto [it, isNew] = exchanged.try_emplace({split, exchange});
  auto &[own, all] = it->second;
  for (size_t index = 0; isNew && index < whole.size(); ++index) {
    const SearchedPlacements &placements = whole[index]->placements;
    std::optional<ModelCells> cells =
        store.read(split.tp, split.sequenceParallel, placements, split.foldsExperts, exchange);
    if (!cells)
      break;
    own.push_back(std::make_unique<PlacementPoint>(PlacementPoint{placements, std::move(*cells)}));
    all.push_back(own.back().get());
  }
  return all;
}

std::vector<PlacementPoint> PlacementFrontier::search(const TensorSplit &split,
                                                      const ModelCells &megatron) {
  auto [tp, sequenceParallel, foldsExperts] = split;
  // Placements that turn out not to be partitionable are dropped silently.
  mlir::ScopedDiagnosticHandler quiet(store.folded().module.get()->getContext(),
                                      [](mlir::Diagnostic &) { return mlir::success(); });
  Decisions decisions = split.decisions();
  decisions.dp = request.topology->numDevices() / tp;
  auto costOf = [&](const ModelCells &cells) {
    ModelCells applied = applyStack(cells, *request.software, request.precision.compute);
    return meritsOf(costModel(applied, decisions, *request.topology, request.precision));
  };
  const Merits own = costOf(megatron);
  const CellPrecision &p = request.precision;
  double stateBytes = p.parameterBytes + p.gradientBytes + p.optimizerBytes;
  KnownCollectives known(*request.topology); // prices of memory differ, but not the collectives
  PlacementBasis basis{
      groupsOf(decisions).tp, *request.topology, request.precision, *request.software, {}, &known};
  SplitSearch network(store.searcher().differentiated(), tp, sequenceParallel, TensorPattern::Any,
                      basis, foldsExperts);
  std::vector<SearchedPlacements> tried{
      store.point(tp, sequenceParallel, foldsExperts)->placements};
  struct Found {
    Merits merits;
    PlacementPoint point;
    size_t number; // ties go to the first
  };
  std::vector<Found> found;
  for (double kept : kWorthOfKept)
    for (double parameters : kWorthOfParameters) {
      MemoryWorth worth{kept * own.seconds / own.kept,
                        parameters * own.seconds / (own.parameters * stateBytes)};
      std::optional<SearchedPlacements> placements = network.cheapest(worth);
      if (!placements || llvm::is_contained(tried, *placements))
        continue;
      tried.push_back(*placements);
      std::optional<ModelCells> cells = store.read(tp, sequenceParallel, *placements, foldsExperts);
      if (!cells)
        continue;
      Merits merits = costOf(*cells);
      auto better = [&](const Found &other) { return other.merits.atLeastAsGood(merits); };
      bool isDominated = own.atLeastAsGood(merits) && !options.keepsDominated;
      bool isWhole =
          merits.parameters + merits.frozen > kSplitWeights * (own.parameters + own.frozen);
      if (isDominated || (isWhole && options.mustSplitWeights) || llvm::any_of(found, better))
        continue;
      llvm::erase_if(found, [&](const Found &other) { return merits.atLeastAsGood(other.merits); });
      found.push_back({merits, {std::move(*placements), std::move(*cells)}, tried.size()});
    }
  llvm::sort(found, [](const Found &a, const Found &b) {
    return std::tie(a.merits.seconds, a.number) < std::tie(b.merits.seconds, b.number);
  });
  // The fastest, and the fastest of those that split weights as far as pins of tp ask for. A pin
  // takes no placements that the search without the pin does not have.
  std::vector<PlacementPoint> points;
  size_t splitting = 0;
  for (auto [index, each] : llvm::enumerate(found)) {
    bool isSplit = each.merits.parameters <= kSplitWeights * own.parameters;
    if (index < kMostPoints || (isSplit && splitting < kMostPoints))
      points.push_back(std::move(each.point));
    splitting += isSplit;
  }
  return points;
}

} // namespace dtc

// Checks a plan that people may have edited.
#include "compiler/decide/plan/CheckPlan.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Rules.h"
#include "compiler/decide/plan/PlacementText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <set>

namespace dtc {
namespace {

using Found = std::optional<PlanMistake>;

constexpr int64_t kMostDevices = int64_t(1) << 20; // same limit as in topologies
constexpr int64_t kMostLayers = int64_t(1) << 20;
constexpr std::array<llvm::StringRef, 5> kAxes{"dp", "tp", "pp", "cp", "ep"};

std::string number(int64_t value) { return std::to_string(value); }

// Returns true if the product of `factors` is `whole`. Does not compute the product, which may
// exceed 64 bits.
bool isProduct(int64_t whole, llvm::ArrayRef<int64_t> factors) {
  for (int64_t factor : factors) {
    if (whole % factor != 0)
      return false;
    whole /= factor;
  }
  return whole == 1;
}

Found checkMesh(const Plan &plan) {
  const Decisions &d = plan.decisions;
  if (plan.devices > kMostDevices)
    return PlanMistake{"devices",
                       "is " + number(plan.devices) + ", wanted at most " + number(kMostDevices)};
  if (!isProduct(plan.devices, {d.dp, d.tp, d.pp, d.cp}))
    return PlanMistake{"mesh", "is dp " + number(d.dp) + " x tp " + number(d.tp) + " x pp " +
                                   number(d.pp) + " x cp " + number(d.cp) + ", wanted the " +
                                   number(plan.devices) + " devices"};
  if (plan.nodes > plan.devices)
    return PlanMistake{"nodes", "is " + number(plan.nodes) + ", more than the " +
                                    number(plan.devices) + " devices"};
  return std::nullopt;
}

Found checkDecisions(const Plan &plan) {
  const Decisions &d = plan.decisions;
  for (const Decision *each : decisionsOfPlans()) {
    bool hasMost = each->plan.form == PlanForm::Number && each->pin.isNumber() &&
                   !each->pin.name.empty() && each->pin.high < kMostPinned;
    if (hasMost && each->field.get(d) > each->pin.high)
      return PlanMistake{each->key.str(),
                         "is " + each->valueOf(d) + ", wanted " + each->pin.values()};
  }
  if (const Rule *broken = findBrokenRule(d)) {
    auto [key, what] = faultOf(*broken, d);
    return PlanMistake{key, what};
  }
  if (!isProduct(plan.globalBatch, {d.dp, d.microBatch, d.numMicroBatches}))
    return PlanMistake{"global_batch", "is " + number(plan.globalBatch) +
                                           ", but dp x micro_batch x num_micro_batches is " +
                                           number(d.dp) + " x " + number(d.microBatch) + " x " +
                                           number(d.numMicroBatches)};
  return std::nullopt;
}

using Runs = llvm::SmallVector<std::pair<int64_t, int64_t>>;

// The runs of layers of all stages are each layer once; the first and the last may have none. The
// one stage of a model without layers has the run [0, -1].
Found checkLayers(Runs runs) {
  if (runs == Runs{{0, -1}})
    return std::nullopt;
  llvm::sort(runs);
  int64_t next = 0;
  for (auto [index, run] : llvm::enumerate(runs)) {
    auto [first, last] = run;
    bool mayBeEmpty = index == 0 || index + 1 == runs.size(); // embedding or head alone
    if (first != next || last < first - mayBeEmpty || last >= kMostLayers)
      return PlanMistake{"layers", "has the run [" + number(first) + ", " + number(last) +
                                       "] in some stage, wanted runs that together are the layers "
                                       "from 0 on, each once"};
    next = last + 1;
  }
  return std::nullopt;
}

Found checkStages(const Plan &plan) {
  if (static_cast<int64_t>(plan.stages.size()) != plan.decisions.pp)
    return PlanMistake{"stages", "has " + number(static_cast<int64_t>(plan.stages.size())) +
                                     " stages, wanted pp = " + number(plan.decisions.pp)};
  Runs runs;
  for (const PlanStage &stage : plan.stages) {
    // A plan without chunks has one run of layers in each stage.
    if (stage.chunks.empty())
      runs.push_back({stage.firstLayer, stage.lastLayer});
    else if (stage.firstLayer != stage.chunks.front().first ||
             stage.lastLayer != stage.chunks.back().second)
      return PlanMistake{"layers", "is [" + number(stage.firstLayer) + ", " +
                                       number(stage.lastLayer) +
                                       "] of some stage, wanted where its chunks begin and end"};
    else if (static_cast<int64_t>(stage.chunks.size()) != plan.decisions.virtualStages)
      return PlanMistake{"chunks", "has " + number(static_cast<int64_t>(stage.chunks.size())) +
                                       " runs of layers in some stage, wanted virtual_stages = " +
                                       number(plan.decisions.virtualStages)};
    runs.append(stage.chunks.begin(), stage.chunks.end());
    if (static_cast<int64_t>(stage.ranks.size()) != plan.devices / plan.decisions.pp)
      return PlanMistake{"ranks", "has " + number(static_cast<int64_t>(stage.ranks.size())) +
                                      " ranks in some stage, wanted devices / pp = " +
                                      number(plan.devices / plan.decisions.pp)};
    for (int64_t rank : stage.ranks)
      if (rank < 0 || rank >= plan.devices)
        return PlanMistake{"ranks", "has " + number(rank) + ", wanted ranks from 0 to " +
                                        number(plan.devices - 1)};
    int64_t layers = layersOf(stage);
    if (auto count = static_cast<int64_t>(stage.recompute.size()); count != 0 && count != layers)
      return PlanMistake{"recompute", "has " + number(count) +
                                          " entries in some stage, wanted one for each of its " +
                                          number(layers) + " layers"};
    if (stage.offloadedLayers > std::max<int64_t>(0, layers))
      return PlanMistake{"layers_on_host", "is " + number(stage.offloadedLayers) +
                                               " in some stage, wanted no more than its " +
                                               number(layers) + " layers"};
    for (const std::string &layer : stage.recompute)
      if (!recomputeFrom(layer))
        return PlanMistake{"recompute", "is '" + layer + "', wanted one of " + listOfRecomputes()};
  }
  return checkLayers(std::move(runs));
}

// Programs are put there.
Found checkRanks(const Plan &plan) {
  std::set<int64_t> seen;
  for (const PlanStage &stage : plan.stages) {
    int64_t before = -1;
    for (int64_t rank : stage.ranks) {
      std::string why = rank <= before              ? " after " + number(before)
                        : !seen.insert(rank).second ? " in two stages"
                                                    : "";
      if (!why.empty())
        return PlanMistake{"ranks", "has " + number(rank) + why +
                                        ", wanted each rank in one stage, ascending"};
      before = rank;
    }
  }
  return std::nullopt;
}

bool isPlacement(llvm::StringRef axis, llvm::StringRef text) {
  constexpr int64_t mostDims = 16;
  size_t numAxes = 1 + (axis == "tp" ? text.count('/') : 0);
  std::optional<llvm::SmallVector<int64_t, 2>> dims = placementDimsOf(text, numAxes);
  return dims && llvm::all_of(*dims, [](int64_t dim) { return dim < mostDims; });
}

Found checkTensors(const Plan &plan) {
  for (const auto &[name, axes] : plan.tensors)
    for (const auto &[axis, placement] : axes) {
      if (!llvm::is_contained(kAxes, axis))
        return PlanMistake{name, "is placed on axis '" + axis + "', wanted dp, tp, pp, cp or ep"};
      if (!isPlacement(axis, placement))
        return PlanMistake{name, "is placed '" + placement + "' on axis '" + axis +
                                     "', wanted replicate or shard(DIM)"};
    }
  return std::nullopt;
}

} // namespace

int64_t layersOf(const PlanStage &stage) {
  if (stage.chunks.empty())
    return stage.lastLayer - stage.firstLayer + 1;
  int64_t layers = 0;
  for (auto [first, last] : stage.chunks)
    layers += last - first + 1;
  return layers;
}

std::optional<PlanMistake> findMistake(const Plan &plan) {
  for (auto check : {checkMesh, checkDecisions, checkStages, checkRanks, checkTensors})
    if (Found found = check(plan))
      return found;
  if (plan.predicted.stepSeconds <= 0)
    return PlanMistake{"step_time_s", "is 0, wanted a positive number of seconds"};
  return std::nullopt;
}

} // namespace dtc

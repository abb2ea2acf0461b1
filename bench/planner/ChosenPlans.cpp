// Compares published plans, which were made by people, with the plans that the planner chooses.
#include "bench/planner/ChosenPlans.h"

#include "bench/planner/Evaluate.h"
#include "compiler/price/workload/ApplyStack.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/search/planner/JointSearch.h"
#include "compiler/search/planner/MeshSpace.h"

#include <algorithm>

namespace dtc::published {
namespace {

// Returns a key that is equal for cases that share a search.
std::string searchKey(const Case &item) {
  std::string key = item.stack + "|" + nameOf(item.precision).str();
  for (const char *column : {"model", "n_layers", "d_model", "d_ff", "vocab", "seq_len", "gpu",
                             "n_gpus", "gpus_per_node", "inter_bw_Gbps_per_gpu_or_node"})
    key += "|" + item.row->text(column).str();
  return key + "|" + std::to_string(item.globalBatch);
}

class Chooser {
public:
  Chooser(const Knobs &knobs, CellCache &cache, double seconds, ChosenPlans &result)
      : knobs(knobs), cache(cache), seconds(seconds), result(result) {}

  void choose(const std::vector<const Case *> &group) {
    const Case &first = *group.front();
    std::string message;
    ModelShape shape = first.model;
    shape.vocabulary = (shape.vocabulary + 1023) / 1024 * 1024;
    std::optional<FoldedModel> folded = cache.foldedModel(shape, message);
    if (!folded)
      return;
    SoftwareStack software = knobs.stack(first.stack);
    CellStore cells(*folded, patternOf(software));
    EstimateRequest request{&first.topology, &software,
                            cellPrecision(first.precision, OptimizerKind::AdamW, software),
                            first.memoryLimit};
    std::optional<double> found = search(cells, first, request);
    for (const Case *item : group)
      compare(*item, cells, request, found);
  }

private:
  // Returns the seconds of the best plan of the space.
  std::optional<double> search(CellStore &cells, const Case &item,
                               const EstimateRequest &request) const {
    SpaceLimits limits;
    limits.topologyName = item.topology.name;
    limits.devices = item.decisions.devices();
    limits.globalBatch = item.globalBatch;
    limits.layers = item.model.layers;
    limits.sequence = item.model.sequence;
    limits.experts = item.model.isMoe ? item.model.experts : 1;
    limits.tokenGroups = readModelFacts(*cells.folded().module).tokenGroups;
    Result<std::vector<Decisions>> meshes = enumerateMeshes(limits, Pins());
    if (!meshes)
      return std::nullopt;
    SearchOptions options;
    options.devicesPerNode = std::max<int64_t>(1, item.topology.devicesPerNode);
    options.seconds = seconds;
    options.keep = 1;
    options.refined = 0;
    SearchResult found = searchJointly(cells, *meshes, limits, Pins(), request, options);
    result.cutShort += !found.complete();
    if (found.ranked.empty())
      return std::nullopt;
    return found.ranked.front().step.stepSeconds;
  }

  void compare(const Case &item, CellStore &cells, const EstimateRequest &request,
               std::optional<double> found) const {
    const ModelCells *own =
        cells.get(item.decisions.tp, item.decisions.sequenceParallel, item.decisions.foldedExperts);
    if (!own)
      return;
    ModelCells applied = applyStack(*own, *request.software, request.precision.compute);
    applied.recomputeMixes.clear(); // as in Evaluate.cpp
    Decisions decisions = decisionsOn(*request.software, item);
    ModelCost cost = costModel(applied, decisions, item.topology, request.precision);
    EstimateRequest asPublished = request;
    asPublished.cutsToFit = false;
    StepEstimate published = estimateStep(cost, decisions, asPublished);
    if (!published.fits) {
      ++result.tooLarge;
      return;
    }
    ++result.cases;
    // The closed form costs the published cut and schedule, as the search costs its own.
    constexpr double kSame = 1e-9, kNothing = 0.01;
    double faster = found ? published.stepSeconds / *found : kNothing;
    result.missed += faster < 1 - kSame;
    result.faster.push_back(faster);
  }

  const Knobs &knobs;
  CellCache &cache;
  double seconds;
  ChosenPlans &result;
};

} // namespace

ChosenPlans comparePlans(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs,
                         CellCache &cache, double seconds) {
  ChosenPlans result;
  std::map<std::string, std::vector<const Case *>> groups;
  for (const std::unique_ptr<Case> &item : cases)
    if (!item->ranOutOfMemory)
      groups[searchKey(*item)].push_back(item.get());
  Chooser chooser(knobs, cache, seconds, result);
  for (const auto &[key, group] : groups)
    chooser.choose(group);
  std::sort(result.faster.begin(), result.faster.end());
  return result;
}

} // namespace dtc::published

// Estimates published cases.
#include "bench/planner/Evaluate.h"

#include "compiler/describe/stack/LoadStack.h"
#include "compiler/price/workload/ApplyStack.h"

#include "llvm/Support/FileSystem.h"

#include <bit>

namespace dtc::published {

Result<Knobs> Knobs::load(const std::string &stackFolder) {
  std::vector<std::string> all = dtc::stackNames();
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(stackFolder, code), end; it != end && !code;
       it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".toml"))
      all.push_back(it->path());
  if (code)
    return UserError("reading the stack files of '" + stackFolder + "': " + code.message(),
                     "name the folder bench/planner/stacks with --stacks");
  Knobs knobs;
  for (const std::string &each : all) {
    Result<SoftwareStack> stack = loadStack(each);
    if (!stack)
      return stack.error();
    if (!knobs.stacks.emplace(stack->name, *stack).second)
      return UserError("'" + each + "' has the name of another stack, '" + stack->name + "'");
  }
  return knobs;
}

std::vector<std::string> Knobs::stackNames() const {
  std::vector<std::string> names;
  for (const auto &[name, stack] : stacks)
    names.push_back(name);
  return names;
}

static Topology scaled(const Topology &base, const DeviceFactors &factors) {
  Topology topology = base;
  for (double &peak : topology.device.peakFlops)
    peak *= factors.products;
  topology.device.memoryBandwidth *= factors.memory;
  for (LinkLevel &level : topology.levels) {
    bool inside = level.kind == LinkKind::NvLink || level.kind == LinkKind::InfinityFabric ||
                  level.kind == LinkKind::Ici;
    level.bandwidth *= inside ? factors.insideBandwidth : factors.betweenBandwidth;
    level.latency *= factors.latency;
  }
  return topology;
}

Decisions decisionsOn(const SoftwareStack &software, const Case &item) {
  Decisions decisions = item.decisions;
  if (decisions.cp > 1 && software.space.contextKinds != 0)
    decisions.contextKind = static_cast<ContextKind>(std::countr_zero(software.space.contextKinds));
  return decisions;
}

// Excludes the products before attention from recomputation.
static void spareQueries(BlockCell &block) {
  for (auto [index, op] : llvm::enumerate(block.ops)) {
    if (op.kind == WorkKind::Attention)
      return;
    int each = static_cast<int>(index);
    if (op.kind == WorkKind::Product && !llvm::is_contained(block.unreadOps, each))
      block.unreadOps.push_back(each);
  }
}

CaseResult evaluate(const Case &item, const Knobs &knobs) {
  CaseResult caseResult;
  caseResult.item = &item;
  Topology topology = scaled(item.topology, knobs.deviceOr(deviceFamily(item)));
  SoftwareStack software = knobs.stack(item.stack);
  software.selectiveAttention &= !item.recomputesPointwise;
  EstimateRequest request{&topology, &software,
                          cellPrecision(item.precision, OptimizerKind::AdamW, software),
                          item.memoryLimit};
  request.cutsToFit = false; // people cut evenly
  ModelCells cells = applyStack(*item.cells, software, request.precision.compute);
  // Layers recompute what the source says, or all if that is not enough: there are no other mixes.
  cells.recomputeMixes.clear();
  if (item.decisions.layersOnHost != LayersOnHost::None)
    cells.hostRecomputes.set();
  if (item.hasQueriesOnHost)
    llvm::for_each(cells.blocks, spareQueries);
  Decisions decisions = decisionsOn(software, item);
  ModelCost model = costModel(cells, decisions, topology, request.precision);
  caseResult.estimate = estimateStep(model, decisions, request);
  caseResult.layer = model.blocks.front();
  caseResult.key = {software.extends, deviceFamily(item),
                    item.model.isMoe ? ModelKind::Mixture : ModelKind::Dense};
  caseResult.key.stacks.insert(caseResult.key.stacks.begin(), software.name);
  return caseResult;
}

} // namespace dtc::published

// Estimates of published cases.
#include "bench/planner/Evaluate.h"

namespace dtc::published {

Knobs::Knobs() {
  for (const SoftwareStack &stack : softwareStacks())
    stacks.emplace(stack.name.str(), stack);
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

Outcome evaluate(const Case &item, const Knobs &knobs) {
  Outcome outcome;
  outcome.item = &item;
  Topology topology = scaled(item.topology, knobs.deviceOr(deviceFamily(item)));
  const SoftwareStack &software = knobs.stack(item.stack);
  EstimateRequest request{&topology, &software, cellPrecision(item.precision, "adamw", software),
                          item.memoryLimit};
  ModelCost model = costModel(*item.cells, item.decisions, topology, request.precision, software);
  outcome.estimate = estimateStep(model, item.decisions, request);
  outcome.layer = model.blocks.front();
  return outcome;
}

} // namespace dtc::published

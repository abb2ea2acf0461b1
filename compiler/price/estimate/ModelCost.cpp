// Costs the parts of a model.
#include "compiler/price/estimate/ModelCost.h"
#include "compiler/describe/topology/Groups.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/estimate/NetworkLevels.h"
#include "compiler/price/estimate/StageTransfers.h"
#include "compiler/price/workload/VocabularyShare.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {
namespace {

CellScale scaleOf(const Decisions &decisions) {
  return {static_cast<double>(decisions.microBatch), static_cast<double>(decisions.cp),
          static_cast<double>(decisions.ep)};
}

VocabularyCost costVocabulary(const ModelCells &cells, CellScale scale, const AxisGroups &groups,
                              int64_t stages, const Topology &topology,
                              const CellPrecision &precision) {
  VocabularyCells divided = divideVocabulary(cells);
  VocabularyCost cost;
  cost.embedding = costBlock(divided.embedding, scale, groups, topology, precision);
  cost.head = costBlock(divided.head, scale, groups, topology, precision);
  for (const VocabularyCollective &each :
       vocabularyCollectives(divided, scale, precision.activationShare))
    cost.collectives += each.count * collectiveSeconds(each.kind, each.bytes, groups.pp, topology);
  scale.vocabulary = static_cast<double>(stages);
  cost.share = costBlock(divided.share, scale, groups, topology, precision);
  return cost;
}

// Returns the cost of a rank's own work, whatever its groups.
ModelCost workOn(const Topology &topology, const ModelCells &cells, const Decisions &decisions,
                 const CellPrecision &precision) {
  ModelCost cost;
  cost.cells = &cells;
  CellScale scale = scaleOf(decisions);
  auto costOf = [&](const BlockCell &cell) { return costWork(cell, scale, topology, precision); };
  cost.embedding = costOf(cells.embedding);
  cost.head = costOf(cells.head);
  for (const BlockCell &block : cells.blocks)
    cost.blocks.push_back(costOf(block));
  cost.tiedParameters = cells.tied.at(scale);
  cost.tiedFrozen = cells.tiedFrozen.at(scale);
  auto add = [&](const BlockCost &block) {
    cost.allDense += block.denseParameters;
    cost.allExpert += block.expertParameters;
  };
  add(cost.embedding);
  add(cost.head);
  for (int index : cells.chain) {
    const BlockCost &block = cost.blocks[static_cast<size_t>(index)];
    add(block);
    // Partial recomputations other than `most` count only in mixes that not all software has.
    for (Recompute most : kRecomputes) {
      double least = block.kept;
      for (Recompute recompute : kRecomputes)
        if (isPartOf(recompute, most) && (!isPartial(recompute) || recompute == most))
          least = std::min(least, keptOf(block, recompute));
      cost.allKept[static_cast<size_t>(most)] += least;
    }
  }
  return cost;
}

void addGroups(ModelCost &cost, const Topology &topology, const ModelCells &cells,
               const Decisions &decisions, const CellPrecision &precision,
               CollectiveSeconds secondsOfCollective) {
  cost.groups = groupsOf(decisions);
  cost.overlap = overlapOf(cells, cost.groups, topology);
  CellScale scale = scaleOf(decisions);
  auto add = [&](const BlockCell &cell, BlockCost &block) {
    addCollectives(cell, scale, cost.groups, topology, precision, secondsOfCollective, block);
  };
  add(cells.embedding, cost.embedding);
  add(cells.head, cost.head);
  for (auto [cell, block] : llvm::zip(cells.blocks, cost.blocks))
    add(cell, block);
  if (cells.dividesVocabulary && decisions.pp > 1 && cost.tiedParameters + cost.tiedFrozen == 0)
    cost.vocabulary = costVocabulary(cells, scale, cost.groups, decisions.pp, topology, precision);
}

// Returns the cost with all stages on one kind of devices.
ModelCost costOn(const Topology &topology, const ModelCells &cells, const Decisions &decisions,
                 const CellPrecision &precision) {
  ModelCost cost = workOn(topology, cells, decisions, precision);
  addGroups(cost, topology, cells, decisions, precision,
            [&](CollectiveKind kind, double bytes, const RankGroup &group) {
              return collectiveSeconds(kind, bytes, group, topology);
            });
  return cost;
}

ModelCost costOn(const Topology &topology, const ModelCells &cells, const Decisions &decisions,
                 const CellPrecision &precision, KnownCosts &known) {
  ModelCost cost = workOfModel(cells, decisions, topology, precision, known);
  addGroups(cost, topology, cells, decisions, precision,
            [&](CollectiveKind kind, double bytes, const RankGroup &group) {
              return known.collectives.seconds(kind, bytes, group);
            });
  return cost;
}

} // namespace

const ModelCost &workOfModel(const ModelCells &cells, const Decisions &decisions,
                             const Topology &topology, const CellPrecision &precision,
                             KnownCosts &known) {
  auto [work, isNew] = known.work.try_emplace({&cells, keyOf(KeptResult::Work, decisions)});
  if (isNew)
    work->second = workOn(topology, cells, decisions, precision);
  return work->second;
}

Overlap overlapOf(const ModelCells &cells, const AxisGroups &groups, const Topology &topology) {
  Overlap overlap = cells.overlap;
  if (!cells.sequenceParallel || spansNetwork(groups.tp, topology))
    overlap.tp = 0;
  if (groups.gathersKeys)
    overlap.cp = 0;
  return overlap;
}

// Returns the cost with all stages on devices of one kind.
static ModelCost costOnKind(size_t kind, const StageDevices &devices, const ModelCells &cells,
                            const Decisions &decisions, const CellPrecision &precision,
                            KnownCosts *known) {
  if (!known)
    return costOn(devices.kinds[kind], cells, decisions, precision);
  auto [cost, isNew] = known->onParts.try_emplace(
      {&cells, devices.whereOfKind[kind], keyOf(KeptResult::PartCost, decisions)});
  if (isNew)
    cost->second = costOn(devices.kinds[kind], cells, decisions, precision);
  return cost->second;
}

// Returns the transfers between the stages of a model whose blocks and devices are costed.
static StageTransfers transfersOf(const ModelCost &cost, const Decisions &decisions,
                                  const Topology &topology) {
  if (decisions.pp == 1 || cost.blocks.empty())
    return {};
  double bytes = cost.blocks.front().input;
  if (cost.devices.empty())
    return transfersBetween(bytes, cost.groups, decisions, topology);
  std::vector<KindOfActivation> kinds;
  for (const ModelCost &kind : cost.kinds)
    kinds.push_back({kind.blocks.front().input, kind.groups.tp});
  return transfersOver(bytes, cost.devices, kinds, decisions);
}

ModelCost costModel(const ModelCells &cells, const Decisions &decisions, const Topology &topology,
                    const CellPrecision &precision, KnownCosts *known, CellsOfDecisions cellsOf) {
  ModelCost cost = known ? costOn(topology, cells, decisions, precision, *known)
                         : costOn(topology, cells, decisions, precision);
  cost.devices = devicesOfStages(decisions, topology);
  for (size_t kind = 0; kind < cost.devices.kinds.size(); ++kind) {
    Decisions own = decisions.onPart(cost.devices.whereOfKind[kind].first);
    const ModelCells &of = own.tp == decisions.tp ? cells : cellsOf(own);
    assert(of.chain == cells.chain && "stages have layers of the same model");
    cost.kinds.push_back(costOnKind(kind, cost.devices, of, own, precision, known));
  }
  StageTransfers transfers = transfersOf(cost, decisions, topology);
  cost.transferSeconds = transfers.slowest;
  cost.transfers = std::move(transfers.each);
  return cost;
}

} // namespace dtc

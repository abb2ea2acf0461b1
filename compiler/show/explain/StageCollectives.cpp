// Every collective of a stage in a step.
#include "compiler/show/explain/StageCollectives.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/UsedLevels.h"
#include "compiler/price/estimate/Buckets.h"
#include "compiler/price/estimate/GradientCollectives.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

class StageLister {
public:
  StageLister(const Plan &plan, const CostedPlan &costed, size_t stage)
      : plan(plan), costed(costed), groups(costed.groups, plan.decisions), stage(stage) {}

  std::vector<StageCollective> run() {
    for (const CostedPart &part : costed.parts)
      if (layersOn(part, plan, stage) > 0)
        addPart(part);
    if (plan.decisions.zero >= 2)
      addShardedLayers();
    addTransfers();
    addOncePerStep();
    return std::move(list);
  }

private:
  void add(std::string what, std::string axis, const RankGroup &group, CollectiveKind kind,
           double bytes, double runs, std::optional<double> exposed) {
    CollectiveChoice choice = explainCollective(kind, bytes, group, costed.topology);
    if (choice.seconds <= 0 || runs <= 0)
      return;
    append({std::move(what), std::move(axis), ranksText(group, costed.topology), kind, bytes,
            choice, runs, runs * choice.seconds, exposed});
  }

  // Equal ones that follow each other are one row.
  void append(StageCollective collective) {
    if (!list.empty()) {
      StageCollective &last = list.back();
      if (std::tie(last.what, last.axis, last.kind, last.bytes) ==
          std::tie(collective.what, collective.axis, collective.kind, collective.bytes)) {
        last.runs += collective.runs;
        last.stepSeconds += collective.stepSeconds;
        if (collective.exposedSeconds)
          last.exposedSeconds = last.exposedSeconds.value_or(0) + *collective.exposedSeconds;
        return;
      }
    }
    list.push_back(std::move(collective));
  }

  std::string replicas(bool isExpert) const { return replicaAxes(plan.decisions, isExpert); }

  void addPart(const CostedPart &part) {
    double runs = partRunsOf(part, plan, stage);
    for (const CostedCollective &each : part.collectives) {
      double all = each.count * runsOf(part, each.runsAgain, plan, stage);
      double exposed = each.exposedShare * each.count * runs * each.choice.seconds;
      layerExposed += exposed;
      append({part.name + (each.phase == CellPhase::Forward ? ", forward" : ", backward"),
              each.axis, ranksText(each.ranks, costed.topology), each.kind, each.bytes, each.choice,
              all, all * each.choice.seconds, exposed});
    }
  }

  // Layer by layer, every micro-batch: ZeRO-2 scatters gradients, ZeRO-3 gathers parameters too.
  void addShardedLayers() {
    const CellPrecision &p = costed.precision;
    double exposed =
        plan.stages[stage].exposedCommSeconds - plan.stages[stage].gradientSeconds - layerExposed;
    size_t first = list.size();
    for (const CostedPart &part : costed.parts) {
      double runs = partRunsOf(part, plan, stage);
      for (bool isExpert : {false, true}) {
        double elements = isExpert ? part.expertParameters : part.denseParameters;
        const RankGroup &group = isExpert ? groups.expertShards : groups.denseShards;
        std::string name = part.name + (isExpert ? "'s experts" : "'s parameters");
        if (plan.decisions.zero >= 3)
          addGathers(part, name, isExpert);
        add(part.name + (isExpert ? "'s gradients of experts" : "'s gradients"), replicas(isExpert),
            group, CollectiveKind::ReduceScatter, elements * p.reduceBytes, runs, std::nullopt);
      }
    }
    if (list.size() > first)
      list[first].exposedSeconds = std::max(0.0, exposed);
  }

  // Adds the gathers of what forward and backward read; with recomputation, backward also gathers
  // for repeated ops.
  void addGathers(const CostedPart &part, const std::string &name, bool isExpert) {
    const RankGroup &group = isExpert ? groups.expertShards : groups.denseShards;
    auto gather = [&](const CostedPart::Gather &elements, const char *pass, double runs) {
      add(name + pass, replicas(isExpert), group, CollectiveKind::AllGather,
          (isExpert ? elements.expert : elements.dense) * costed.precision.parameterBytes, runs,
          std::nullopt);
    };
    double runs = partRunsOf(part, plan, stage), left = runs;
    gather(part.gatheredForward, ", forward", runs);
    auto backward = [&](Recompute recompute, double times) {
      gather(part.gatheredBackward[static_cast<size_t>(recompute)], ", backward", times);
    };
    std::vector<std::pair<Recompute, double>> again;
    for (Recompute recompute : kRecomputes)
      if (recompute > Recompute::Selective) {
        double times = static_cast<double>(plan.decisions.numMicroBatches *
                                           layersThat(recompute, part, plan, stage));
        again.push_back({recompute, times});
        left -= times;
      }
    backward(Recompute::None, left);
    for (auto [recompute, times] : again)
      backward(recompute, times);
  }

  void addTransfers() {
    if (plan.decisions.pp == 1 || plan.predicted.transferSeconds <= 0)
      return;
    // Each chunk hands on what it made and sends back what it took, but for the ends of the chain.
    double all = static_cast<double>(plan.decisions.numMicroBatches);
    double chunks = static_cast<double>(plan.decisions.virtualStages);
    bool isLast = stage + 1 == plan.stages.size();
    double down = all * (isLast ? chunks - 1 : chunks),
           up = all * (stage == 0 ? chunks - 1 : chunks);
    const std::vector<double> &boundaries = plan.predicted.transfers;
    double most = plan.predicted.transferSeconds;
    // Interleaved schedules continue from the last stage at the first, across all boundaries.
    double next = boundaries.empty() || isLast ? most : boundaries[stage];
    double before = boundaries.empty() || stage == 0 ? most : boundaries[stage - 1];
    if (plan.decisions.schedule !=
        ScheduleKind::Interleaved) { // a chain that turns goes back the way it came
      next = isLast ? before : next;
      before = stage == 0 ? next : before;
    }
    StageCollective transfer;
    transfer.what = "activations and their gradients to the next stage";
    transfer.axis = "pp";
    // On a topology of this stage's devices only, the next stage's devices are missing.
    if (costed.topology.numDevices() == plan.devices)
      transfer.ranks = ranksText(costed.groups.pp, costed.topology);
    transfer.kind = CollectiveKind::SendRecv;
    transfer.bytes = costed.transferBytes;
    transfer.runs = down + up;
    transfer.stepSeconds = down * next + up * before;
    transfer.choice = {transfer.stepSeconds / transfer.runs, "pair", ""};
    list.push_back(std::move(transfer));
  }

  void addOncePerStep() {
    StageParameters parameters = parametersOf(plan, costed, stage);
    const CellPrecision &p = costed.precision;
    size_t first = list.size();
    for (bool isExpert : {false, true}) {
      double elements = isExpert ? parameters.expert : parameters.dense;
      const RankGroup &shards = isExpert ? groups.expertShards : groups.denseShards,
                      &copies = isExpert ? groups.expertCopies : groups.denseCopies;
      std::string of = isExpert ? " of experts" : "";
      auto bucketsAmong = [&](const RankGroup &group, const std::string &what, CollectiveKind kind,
                              double bytes) {
        int64_t count = bucketsOf(bytes, group);
        if (count > 0 && !plan.decisions.overlapGradients)
          count = 1;
        else if (count > 0 && plan.decisions.bucketBytes > 0)
          count = std::max<int64_t>(
              1, std::llround(std::ceil(bytes / static_cast<double>(plan.decisions.bucketBytes))));
        if (count > 0)
          add(what + of + ", once a step", replicas(isExpert), group, kind,
              bytes / static_cast<double>(count), static_cast<double>(count), std::nullopt);
      };
      auto buckets = [&](const std::string &what, CollectiveKind kind, double bytes) {
        bucketsAmong(shards, what, kind, bytes);
      };
      if (plan.decisions.zero == 0)
        buckets("gradients", CollectiveKind::AllReduce, elements * p.reduceBytes);
      if (plan.decisions.zero == 1)
        buckets("gradients", CollectiveKind::ReduceScatter, elements * p.reduceBytes);
      bucketsAmong(copies, "gradients between groups", CollectiveKind::AllReduce,
                   elements * p.reduceBytes / ranksOf(shards));
      if (plan.decisions.zero == 1 || plan.decisions.zero == 2)
        buckets("parameters", CollectiveKind::AllGather, elements * p.parameterBytes);
    }
    if (list.size() > first)
      list[first].exposedSeconds = plan.stages[stage].gradientSeconds;
    // Lists the rest of the gradients of norms, of which tensor parallelism has unfinished sums.
    double summed = parameters.summed * p.reduceBytes /
                    (plan.decisions.zero >= 1 ? ranksOf(groups.denseShards) : 1);
    if (int64_t count = bucketsOf(summed, costed.groups.tp); count > 0)
      add("gradients of what tp shares, once a step", "tp", costed.groups.tp,
          CollectiveKind::AllReduce, summed / static_cast<double>(count),
          static_cast<double>(count), std::nullopt);
  }

  const Plan &plan;
  const CostedPlan &costed;
  ShardGroups groups;
  size_t stage;
  double layerExposed = 0;
  std::vector<StageCollective> list;
};

} // namespace

std::string replicaAxes(const Decisions &d, bool isExpert) {
  llvm::SmallVector<std::string, 3> axes;
  for (auto [name, ranks] : {std::pair("dp", d.dp), {"cp", d.cp}})
    if (ranks > 1)
      axes.push_back(name);
  if (isExpert && d.spreadsExperts('t'))
    axes.push_back("tp");
  return axes.empty() ? "dp" : llvm::join(axes, " x ");
}

std::string ranksText(const RankGroup &group, const Topology &topology) {
  if (!topology.isHomogeneous())
    return "";
  std::string list;
  llvm::SmallVector<int64_t> ranks = ranksPerLevel(group, topology);
  for (size_t level = 0; level < ranks.size(); ++level)
    if (ranks[level] > 1)
      list += (list.empty() ? "" : ", ") + std::to_string(ranks[level]) + " over " +
              topology.levels[level].name;
  return list;
}

StageParameters parametersOf(const Plan &plan, const CostedPlan &costed, size_t stage) {
  StageParameters sum;
  for (const CostedPart &part : costed.parts) {
    double layers = static_cast<double>(layersOn(part, plan, stage));
    sum.dense += layers * part.denseParameters;
    sum.expert += layers * part.expertParameters;
    sum.summed += layers * part.sharedGradients;
  }
  // A rank holds parameters shared by embedding and head once.
  for (const CostedPart &part : costed.parts)
    if (part.name == "head" && part.stage == stage && stage == 0)
      sum.dense -= costed.tiedParameters;
  return sum;
}

std::vector<StageCollective> stageCollectives(const Plan &plan, const CostedPlan &costed,
                                              size_t stage) {
  return StageLister(plan, costed, stage).run();
}

} // namespace dtc

// Tables of the page.
#include "compiler/report/Html.h"
#include "compiler/report/Sections.h"

#include "compiler/explain/Figures.h"
#include "compiler/explain/TensorGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace dtc::html {
namespace {

std::string text(int64_t value) { return std::to_string(value); }

std::string layersOf(const PlanStage &stage) {
  if (stage.chunks.size() > 3)
    return text(static_cast<int64_t>(stage.chunks.size())) + " runs, " +
           text(static_cast<int64_t>(stage.recompute.size())) + " layers";
  std::string list;
  for (auto [first, last] : stage.chunks)
    list += (list.empty() ? "" : ", ") + (first > last    ? "none"
                                          : first == last ? text(first)
                                                          : text(first) + " to " + text(last));
  return list;
}

std::string recomputeOf(const PlanStage &stage) {
  std::string list;
  for (const char *kind : {"full", "selective"})
    if (int64_t count = llvm::count(stage.recompute, kind))
      list += (list.empty() ? "" : ", ") + text(count) + " " + kind;
  return list.empty() ? "none" : list;
}

// What a row shows of a stage, but for its number and layers.
std::vector<std::string> figuresOf(const PlanStage &stage) {
  return {figures::seconds(stage.computeSeconds),  figures::seconds(stage.exposedCommSeconds),
          figures::bytes(stage.memory.parameters), figures::bytes(stage.memory.gradients),
          figures::bytes(stage.memory.optimizer),  figures::bytes(stage.memory.activations),
          figures::number(stage.inFlight, 4),      recomputeOf(stage),
          figures::bytes(stage.peakMemoryBytes)};
}

} // namespace

std::string choiceList(const Plan &plan) {
  std::string list = "<dl class=\"choice\">\n";
  auto add = [&](llvm::StringRef name, const std::string &value) {
    list += "<dt>" + escape(name) + "</dt><dd>" + escape(value) + "</dd>\n";
  };
  add("Mesh", "data " + text(plan.dp) + " x tensor " + text(plan.tp) + " x pipeline " +
                  text(plan.pp) + " x context " + text(plan.cp) +
                  (plan.ep > 1 ? ", experts over " + text(plan.ep) : ""));
  add("Batch", text(plan.globalBatch) + " samples of " + text(plan.sequenceLength) +
                   " tokens = " + text(plan.dp) + " ranks x " + text(plan.microBatch) +
                   " samples x " + text(plan.numMicroBatches) + " micro-batches");
  add("Memory", "ZeRO " + text(plan.zero) + ", recomputation " + plan.recompute +
                    (plan.offloadOptimizer ? ", optimizer states on the host" : "") +
                    (plan.sequenceParallel ? ", sequence parallel" : ""));
  if (plan.pp > 1)
    add("Pipeline",
        plan.schedule + ", " + figures::counted(plan.pp, "stage") +
            (plan.virtualStages > 1 ? " of " + figures::counted(plan.virtualStages, "chunk") : ""));
  add("Numbers", plan.precision + ", " + plan.optimizer);
  if (plan.devices > 1)
    add("Links", plan.axisOrder + ", from the innermost out");
  return list + "</dl>\n";
}

std::string stageTable(const Plan &plan) {
  HtmlTable table("Stages; neighbours that are alike share a row. Seconds of a whole step.",
                  {"stage", "layers", "compute", "exposed comm", "parameters", "gradients",
                   "optimizer", "activations", "in flight", "recompute", "peak"},
                  2);
  for (size_t first = 0; first < plan.stages.size();) {
    std::vector<std::string> row = figuresOf(plan.stages[first]);
    size_t last = first;
    while (last + 1 < plan.stages.size() && figuresOf(plan.stages[last + 1]) == row)
      ++last;
    std::string layers = layersOf(plan.stages[first]);
    if (last > first && plan.stages[first].chunks.size() == 1)
      layers = text(plan.stages[first].firstLayer) + " to " + text(plan.stages[last].lastLayer);
    std::string name = std::to_string(first);
    row.insert(row.begin(), {last > first ? name + " to " + std::to_string(last) : name, layers});
    table.addRow(row);
    first = last + 1;
  }
  return table.finish();
}

std::string tensorTable(const Plan &plan) {
  std::vector<TensorGroup> groups = groupTensors(plan);
  std::set<std::string> axes;
  for (const TensorGroup &group : groups)
    for (const auto &entry : group.placements)
      axes.insert(entry.first);
  std::vector<std::string> header{"tensor"};
  header.insert(header.end(), axes.begin(), axes.end());
  header.push_back("layers");
  HtmlTable table("Parameters; * stands for the number of the layer. shard(D): dimension D is "
                  "divided over the axis.",
                  header, header.size() - 1);
  for (const TensorGroup &group : groups) {
    std::vector<std::string> row{group.pattern};
    for (const std::string &axis : axes) {
      auto placement = group.placements.find(axis);
      row.push_back(placement == group.placements.end() ? "replicate" : placement->second);
    }
    row.push_back(group.count > 1 ? text(group.count) : "");
    table.addRow(row);
  }
  return table.finish();
}

std::string candidateTable(const PlanOutcome &outcome) {
  constexpr size_t most = 12;
  HtmlTable table(
      "The fastest of " + text(outcome.best.search.candidates) + " candidates",
      {"plan", "step", "slower by", "bubble", "exposed comm", "recomputation", "memory"});
  std::vector<const Plan *> plans{&outcome.best};
  for (const Plan &other : outcome.others)
    if (plans.size() < most)
      plans.push_back(&other);
  double best = outcome.best.predicted.stepSeconds;
  for (const Plan *plan : plans) {
    const PlanPrediction &p = plan->predicted;
    table.addRow({figures::settingsText(*plan), figures::seconds(p.stepSeconds),
                  plan == plans[0] ? "" : figures::signedPercent(p.stepSeconds / best - 1),
                  figures::percent(p.times.bubble, p.stepSeconds),
                  figures::seconds(p.exposedCommSeconds), figures::seconds(p.times.recompute),
                  figures::bytes(p.peakMemoryBytes)},
                 plan == plans[0] ? "best" : "");
  }
  return table.finish();
}

std::string pinTable(const Plan &plan) {
  HtmlTable table("What every pin costs: the best step without it, the others kept",
                  {"pin", "best step without", "costs", ""});
  for (const PinCost &pin : plan.search.pins) {
    double cost = plan.predicted.stepSeconds - pin.stepWithoutSeconds;
    table.addRow({pin.key + "=" + pin.value, figures::seconds(pin.stepWithoutSeconds),
                  figures::signedSeconds(cost),
                  figures::signedPercent(cost / pin.stepWithoutSeconds)});
  }
  return table.finish();
}

} // namespace dtc::html

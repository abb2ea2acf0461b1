// Tables of the page.
#include "compiler/show/report/Tables.h"

#include "compiler/show/report/DecidedForUser.h"
#include "compiler/show/report/Html.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/show/explain/CutRows.h"
#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/Runners.h"
#include "compiler/show/explain/StageRows.h"
#include "compiler/show/explain/TensorGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace dtc::html {
namespace {

std::string text(int64_t value) { return std::to_string(value); }

} // namespace

std::string choiceList(const Plan &plan, const Topology &topology) {
  std::string list = "<dl class=\"choice\">\n";
  auto add = [&](llvm::StringRef name, const std::string &value) {
    list += "<dt>" + escape(name) + "</dt><dd>" + escape(value) + "</dd>\n";
  };
  const Decisions &d = plan.decisions;
  add("Mesh", "data " + text(d.dp) + " x tensor " + text(d.tp) +
                  (d.hasUnevenTensor() ? " (" + tensorOfPartsText(d) + " by part)" : "") +
                  " x pipeline " + text(d.pp) + " x context " + text(d.cp) +
                  (d.cp > 1 ? " by " + contextText(d) : "") +
                  (d.ep > 1 ? ", experts over " + text(d.ep) : "") +
                  (d.spreadsExperts('t') ? ", whole under tensor parallelism" : ""));
  add("Batch", text(plan.globalBatch) + " samples" +
                   (plan.sequenceLength > 0 ? " of " + text(plan.sequenceLength) + " tokens" : "") +
                   " = " + figures::counted(d.dp, "rank") + " x " +
                   figures::counted(d.microBatch, "sample") + " x " + text(d.numMicroBatches) +
                   (d.numMicroBatches == 1 ? " micro-batch" : " micro-batches"));
  add("Memory", zeroText(d) + ", recomputation " + recomputeText(d) +
                    (d.offloadOptimizer ? ", optimizer states on the host" : "") +
                    (d.offloadsLayers() ? ", activations of " + offloadText(d) : "") +
                    (d.sequenceParallel ? ", sequence parallel" : ""));
  if (d.pp > 1)
    add("Pipeline",
        toString(d.schedule).str() + ", " + figures::counted(d.pp, "stage") +
            (d.virtualStages > 1 ? " of " + figures::counted(d.virtualStages, "chunk") : ""));
  if (d.dividesVocabulary())
    add("Vocabulary",
        vocabularyText(d) + ": " + figures::seconds(plan.predicted.vocabularySeconds) +
            " of the step on every stage, which the picture of the pipeline leaves out");
  add("Numbers", (nameOf(plan.precision) + ", " + nameOf(plan.optimizer)).str());
  if (std::string types = figures::gradientTypesText(plan); !types.empty())
    add("Gradient types", types);
  add("Software", plan.origin.software + figures::softwareNote(plan, topology));
  if (std::string simpler = figures::simplerText(plan); !simpler.empty())
    add("Simpler", simpler);
  if (std::string idle = figures::idleNodesText(plan); !idle.empty())
    add("Idle nodes", idle);
  if (plan.devices > 1)
    add("Links", orderText(d.order) + ", from the innermost out");
  return list + "</dl>\n";
}

std::string stageTable(const Plan &plan) {
  std::vector<std::string> header{"stage", "layers"};
  llvm::append_range(header, stageColumns());
  HtmlTable table("Stages; neighbours that are alike share a row. Seconds of a whole step.", header,
                  2);
  for (const StageRow &row : foldStages(plan)) {
    std::vector<std::string> cells{row.stages, row.layers};
    llvm::append_range(cells, row.figures);
    table.addRow(cells);
  }
  if (!needsCutTable(plan))
    return table.finish();
  HtmlTable cut("Layers of each chunk, in the order of a stage's chunks; neighbours that are cut "
                "alike share a row.",
                {"stage", "layers of its chunks", "which"}, 3);
  for (const CutRow &row : cutRows(plan))
    cut.addRow({row.stages, row.counts, row.layers});
  return table.finish() + cut.finish();
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

std::string candidateTable(const PlanResult &planResult) {
  constexpr size_t most = 10;
  const Plan &best = planResult.best;
  HtmlTable table("The fastest of " + text(best.search.candidates) +
                      " candidates, by what they do otherwise than the plan",
                  {"plan", "loses on", "step", "slower by", "memory"}, 2);
  auto row = [&](const Plan &plan, const std::string &name, const std::string &why) {
    double slower = plan.predicted.stepSeconds / best.predicted.stepSeconds - 1;
    table.addRow({name, why, figures::seconds(plan.predicted.stepSeconds),
                  &plan == &best ? "" : figures::signedPercent(slower),
                  figures::bytes(plan.predicted.peakMemoryBytes)},
                 &plan == &best ? "best" : "");
  };
  row(best, "the plan", "");
  std::vector<const Plan *> runners = runnersUp(planResult, most);
  for (auto [other, label] : llvm::zip(runners, labelsOf(best, runners)))
    row(*other, label, whyNot(best, *other));
  return table.finish();
}

std::string recipeTable(const Plan &plan) {
  HtmlTable table("Published and textbook plans, by the same cost model",
                  {"plan", "step", "slower by", "memory", "loses on", "--fix"}, 1);
  for (const KnownRecipe &recipe : plan.search.recipes)
    table.addRow(figures::recipeCells(plan, recipe), recipe.isChosen ? "best" : "");
  return table.finish();
}

std::string decidedTable(const DecidedForUser &decided) {
  std::string hint = decided.hint.empty() ? "" : "<p>Hint: " + escape(decided.hint) + ".</p>\n";
  if (decided.rows.empty())
    return hint;
  HtmlTable table("What no flag of the command said", {"", "decided", "by"}, 3);
  for (const DecidedRow &row : decided.rows)
    table.addRow({row.what, row.decided, row.flag});
  return table.finish() + hint;
}

std::string pinTable(const Plan &plan) {
  HtmlTable table("What every pin costs: the best step without it, the others kept",
                  {"pin", "best step without", "costs", ""});
  for (const PinCost &pin : plan.search.pins) {
    double cost = plan.predicted.stepSeconds - pin.stepWithoutSeconds;
    table.addRow({pin.key + "=" + pin.value, figures::seconds(pin.stepWithoutSeconds),
                  (pin.exhaustive ? "" : "at least ") + figures::signedSeconds(cost),
                  figures::signedPercent(cost / pin.stepWithoutSeconds)});
  }
  return table.finish();
}

} // namespace dtc::html

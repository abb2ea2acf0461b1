// The plan as one HTML page.
#include "compiler/show/report/Report.h"

#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/PlanPipeline.h"
#include "compiler/show/report/DecidedForUser.h"
#include "compiler/show/report/FrontierChart.h"
#include "compiler/show/report/Html.h"
#include "compiler/show/report/MemoryChart.h"
#include "compiler/show/report/MeshDrawing.h"
#include "compiler/show/report/Tables.h"
#include "compiler/show/report/TimeBars.h"
#include "compiler/show/report/Timeline.h"

namespace dtc {
namespace {

using namespace html;

std::string headerOf(const Plan &plan, const Topology &topology, int64_t limit) {
  const PlanPrediction &p = plan.predicted;
  std::string size = figures::number(static_cast<double>(plan.parameters) / 1e9) + " G parameters";
  std::string html =
      "<header>\n<h1>Plan for " + escape(plan.modelName) + " on " + escape(plan.topologyName) +
      "</h1>\n<p>" + escape(size) +
      (plan.sequenceLength > 0 ? ", sequence " + std::to_string(plan.sequenceLength) : "") +
      ", on " + figures::counted(plan.devices, "device") + " in " +
      figures::counted(plan.nodes, "node") + "</p>\n<dl class=\"figures\">\n";
  figures::Throughput rate = figures::throughputOf(plan);
  html += keyFigure("Step", figures::seconds(p.stepSeconds),
                    figures::number(rate.perSecond / 1000) + " k " + rate.unit +
                        (p.stepHighSeconds > 0 ? "; " + figures::seconds(p.stepLowSeconds) +
                                                     " to " + figures::seconds(p.stepHighSeconds) +
                                                     " in nine of ten runs, by errors of " + p.basis
                                               : ""));
  html += keyFigure("Lower bound", figures::seconds(plan.search.searchBoundSeconds),
                    "no plan of this space is faster, by this cost model; relaxation: " +
                        figures::relaxationText(plan.search));
  html += keyFigure("Gap", figures::percent(plan.search.searchGap, 1),
                    std::to_string(plan.search.candidates) + " candidates in " +
                        figures::seconds(plan.search.seconds) +
                        (plan.search.exhaustive()             ? ""
                         : plan.search.end == SearchEnd::Work ? ", ended by the limit of work"
                                                              : ", ended by --search-seconds"));
  std::string causal = figures::causalUtilisation(p);
  html += keyFigure("Utilisation", figures::percent(p.mfu, 1),
                    figures::number(p.tflopsPerDevice) + " TFLOP/s a device, model flops" +
                        (causal.empty() ? "" : "; " + causal));
  html += keyFigure("Memory", figures::bytes(p.peakMemoryBytes),
                    p.fits ? "of " + figures::bytes(limit) + figures::fitText(plan)
                           : "does not fit into " + figures::bytes(limit),
                    p.fits ? "" : "bad");
  return html + "</dl>\n" + choiceList(plan, topology) + "</header>\n";
}

// The drawings that need a simulated step, or why there is none.
std::string pipelineSections(const Plan &plan, int64_t limit) {
  Result<SimulatedStep> step = compareWithSimulation(plan);
  if (!step)
    return section("pipeline", "Pipeline",
                   "<p>No time line: " + escape(step.error().message) + ".</p>\n" +
                       stageTable(plan)) +
           section("memory", "Memory", memoryFigures(plan, nullptr, limit));
  std::string agreement =
      "<p>Simulated event by event: " + escape(figures::seconds(step->stepSeconds)) +
      " a step, predicted " + escape(figures::seconds(plan.predicted.stepSeconds)) +
      "; the stages wait " + escape(figures::percent(step->simulation.bubbleFraction, 1)) +
      " of it in the mean.</p>\n";
  return section("pipeline", "Pipeline",
                 agreement + timelineFigures(plan, step->simulation) + stageTable(plan)) +
         section("memory", "Memory", memoryFigures(plan, &step->simulation, limit));
}

} // namespace

std::string reportPage(const PlanResult &planResult, const Topology &topology,
                       std::optional<int64_t> memoryLimit, const std::string &command,
                       const DecidedForUser &decided) {
  const Plan &plan = planResult.best;
  int64_t limit = memoryLimit.value_or(figures::memoryLimitOf(plan, topology));
  std::string content;
  content += section("time-of-a-step", "Where the time of a step goes", timeFigure(planResult));
  content += pipelineSections(plan, limit);
  content += section("candidates", "Candidates",
                     frontierFigure(planResult, limit) + candidateTable(planResult) +
                         (plan.search.recipes.empty() ? "" : recipeTable(plan)) +
                         (plan.search.pins.empty() ? "" : pinTable(plan)));
  content += section("mesh", "The mesh on the links", meshFigures(plan, topology));
  content += section("tensors", "Placements", tensorTable(plan));
  if (!decided.rows.empty() || !decided.hint.empty())
    content += section("decided", "Decided for you", decidedTable(decided));
  if (!command.empty())
    content += section("again", "The same plan again",
                       "<pre><code>" + escape(command) + "</code></pre>\n");
  return html::page("Plan for " + plan.modelName + " on " + plan.topologyName,
                    headerOf(plan, topology, limit), content,
                    "Made by dtc; the same plan as JSON comes of <code>dtc plan -o "
                    "plan.json</code>, and <code>dtc explain</code> says more of a tensor, an "
                    "operation or a stage.");
}

} // namespace dtc

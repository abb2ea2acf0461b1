// Measures the table "Figures to reach" of the planner.
#include "bench/planner/Figures.h"

#include "bench/planner/ReportTrust.h"
#include "bench/planner/StaticPlans.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/describe/frontend/HfConfig.h"
#include "compiler/describe/frontend/ImportHf.h"
#include "compiler/search/planner/Planner.h"
#include "compiler/support/File.h"
#include "compiler/support/Table.h"
#include "passes/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <chrono>
#include <cmath>

namespace dtc::published {
namespace {

std::string text(const char *format, double value) {
  std::string result;
  llvm::raw_string_ostream(result) << llvm::format(format, value);
  return result;
}

std::string percent(double share) { return text("%.1f %%", 100 * share); }

mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const std::string &path,
                                              int64_t sequence) {
  Result<std::string> config = readFile(path, int64_t(1) << 20);
  if (!config)
    return nullptr;
  HfConfig parsed(path, *config);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parsed.ok() ? importHfConfig(&context, parsed, sequence) : nullptr;
  return module ? completed(std::move(module)) : nullptr;
}

Figure memoryFigure() {
  Figure figure{"memory of programs that compile today", "no program",
                "within 3 % of the static plan"};
  std::vector<StaticPlan> plans = compareStaticPlans();
  StaticPlanErrors errors = errorsOf(plans);
  if (plans.empty())
    return figure;
  double most = std::abs(errors.worst.off());
  figure.measured = text("%.2f %% off at the median, ", 100 * errors.median) +
                    text("%.2f %% at most (", 100 * most) + errors.worst.name + "), " +
                    std::to_string(plans.size()) + " programs";
  figure.met = most <= 0.03;
  return figure;
}

struct LargeCase {
  const char *what, *config, *topology;
  int64_t nodes, batch, sequence;
  double seconds, gap; // limits; gap 0: none
};

constexpr LargeCase largeCases[] = {
    {"GPT-3 175B on 1,024 A100", "gpt3-175b", "dgx-a100-80g", 128, 1536, 2048, 3, 0.03},
    {"Llama-3 405B on 16,384 H100", "llama-3-405b", "dgx-h100", 2048, 2048, 8192, 10, 0.05},
    {"Mixtral 8x22B on 2,048 H100", "mixtral-8x22b", "dgx-h100", 256, 1024, 4096, 15, 0},
    {"a 1T MoE on 2,048 H100", "moe-1t", "dgx-h100", 256, 2048, 4096, 15, 0},
};

Figure largeFigure(mlir::MLIRContext &context, const std::string &root, const LargeCase &large) {
  Figure figure{large.what, "no plan", text("<= %g s", large.seconds)};
  if (large.gap > 0)
    figure.target += text(", gap <= %g %%", 100 * large.gap);
  auto start = std::chrono::steady_clock::now();
  auto module =
      importModel(context, root + "/models/configs/" + large.config + ".json", large.sequence);
  Result<Topology> topology = loadTopology(large.topology, large.nodes, 0);
  if (!module || !topology)
    return figure;
  PlanRequest request;
  request.model = *module;
  request.topology = *topology;
  request.globalBatch = large.batch;
  request.precision = Precision::BF16;
  Result<PlanResult> planResult = planModel(request);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!planResult) {
    figure.measured = planResult.error().message;
    return figure;
  }
  double gap = planResult->best.search.searchGap;
  figure.measured = text("%.1f s, gap ", seconds) + percent(gap);
  figure.met = seconds <= large.seconds && (large.gap == 0 || gap <= large.gap);
  return figure;
}

} // namespace

std::vector<Figure> comparisonFigures(const std::vector<const CaseResult *> &heldOut,
                                      bool namesSources) {
  Summary all = summaryOf(heldOut);
  Regret regret = regretOf(heldOut);
  Coverage coverage = coverageOf(heldOut, Uncertainty::of);
  const Feasibility &fits = all.feasibility;
  Feasibility alone = feasibilityOf(heldOut, isEstimatedToFit);
  std::vector<std::string> weak = weakSources(heldOut);
  return {{"step time: median error, 90th percentile",
           percent(all.time.median) + ", " + percent(all.time.p90) + " of " +
               std::to_string(all.time.rows) + " rows",
           "<= 6 %, <= 18 %", all.time.median <= 0.06 && all.time.p90 <= 0.18},
          {"regret of the configuration that would be picked: median, 90th percentile",
           percent(regret.median()) + ", " + percent(regret.p90()) + " of " +
               std::to_string(regret.lost.size()) + " groups; " +
               std::to_string(regret.ranOutOfMemory) + " picks ran out of memory",
           "<= 3 %, <= 10 %",
           !regret.lost.empty() && regret.median() <= 0.03 && regret.p90() <= 0.1},
          {"does it fit, by the more probable outcome: right, \"fits\" where it did not",
           percent(fits.right()) + " of " + std::to_string(fits.ran + fits.failed) + ", " +
               percent(fits.wrongFits()) + " of " + std::to_string(fits.failed),
           ">= 97 %, <= 1.5 %", fits.right() >= 0.97 && fits.wrongFits() <= 0.015},
          {"the same by the estimate alone, without the errors of its class",
           percent(alone.right()) + ", " + percent(alone.wrongFits()), "", true},
          {"sources of 5 rows or more of which fewer than 85 % are right about what fits",
           std::to_string(weak.size()) +
               (namesSources && !weak.empty() ? ": " + llvm::join(weak, ", ") : ""),
           "none", weak.empty()},
          {"rows within the 90 % interval of their step time",
           percent(coverage.inside()) + " of " + std::to_string(coverage.rows), "85 to 95 %",
           coverage.inside() >= 0.85 && coverage.inside() <= 0.95},
          {"order of configurations of one model and hardware: Kendall tau",
           text("%.3f", all.order.tau()) + " of " + std::to_string(all.order.pairs) + " pairs",
           ">= 0.85", all.order.tau() >= 0.85}};
}

Figure chosenFigure(const ChosenPlans &plans) {
  Figure chosen{"plans found for published cases that are slower than the published one, by the "
                "same model",
                "no case", "none", plans.cases > 0 && plans.missed == 0};
  if (plans.faster.empty())
    return chosen;
  auto at = [&](double share) { return percent(quantileOf(plans.faster, share) - 1); };
  chosen.measured = std::to_string(plans.missed) + " of " + std::to_string(plans.cases) +
                    "; faster by " + at(0) + ", " + at(0.1) + ", " + at(0.5) + " and " + at(0.9) +
                    " at the least, p10, the median and p90; " + std::to_string(plans.cutShort) +
                    " searches cut short; " + std::to_string(plans.tooLarge) +
                    " published plans do not fit by the model";
  return chosen;
}

std::vector<Figure> planFigures(const std::string &root) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::vector<Figure> figures{memoryFigure()};
  for (const LargeCase &large : largeCases)
    figures.push_back(largeFigure(context, root, large));
  return figures;
}

void printFigures(const std::vector<Figure> &figures, llvm::raw_ostream &out) {
  out << "\nfigures to reach\n";
  Table table({"what", "measured", "target", ""});
  for (const Figure &figure : figures)
    table.addRow({figure.what, figure.measured, figure.target,
                  figure.target.empty() ? ""
                  : figure.met          ? "met"
                                        : "missed"});
  table.print(out, 2);
}

} // namespace dtc::published

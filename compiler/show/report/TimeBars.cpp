// Draws the parts of a step's time as bars.
#include "compiler/show/report/TimeBars.h"

#include "compiler/show/report/Axis.h"

#include "compiler/show/explain/Figures.h"
#include "compiler/show/explain/Runners.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc::html {
namespace {

// In the order of figures::timeParts.
constexpr llvm::StringLiteral kClasses[] = {
    "time-compute", "time-recompute", "time-tensor",    "time-context", "time-expert",
    "time-gathers", "time-gradients", "time-transfers", "time-bubble",  "time-optimizer"};
constexpr size_t kMostOthers = 7;

void drawBar(Svg &svg, const Plan &plan, const Scale &x, double y, double height) {
  double from = 0;
  for (auto [cssClass, part] : llvm::zip(kClasses, figures::timeParts())) {
    double seconds = plan.predicted.times.*part.seconds;
    if (seconds <= 0)
      continue;
    double width = x(from + seconds) - x(from);
    svg.rect(x(from), y, width, height, cssClass,
             std::string(part.name) + ": " + figures::seconds(seconds) + ", " +
                 figures::percent(seconds, plan.predicted.stepSeconds));
    std::string label = figures::percent(seconds, plan.predicted.stepSeconds);
    if (width > 44)
      svg.text(x(from) + width / 2, y + height / 2 + 3.5, label, "inside", "middle");
    from += seconds;
  }
}

} // namespace

std::string timeFigure(const PlanResult &planResult) {
  constexpr double width = 1056, left = 10, right = 12, pitch = 46;
  std::vector<const Plan *> plans = runnersUp(planResult, kMostOthers);
  std::vector<std::string> labels = labelsOf(planResult.best, plans);
  plans.insert(plans.begin(), &planResult.best);
  labels.insert(labels.begin(), figures::settingsText(planResult.best) + "  (the plan)");
  double most = 0;
  for (const Plan *plan : plans)
    most = std::max(most, plan->predicted.stepSeconds);
  double bottom = 8 + pitch * static_cast<double>(plans.size());
  Svg svg(width, bottom + 38, "time", "Where the time of a step goes",
          "bars of the plan and of the " + std::to_string(plans.size() - 1) +
              " next fastest candidates, divided by what the slowest stage does");
  Scale x{0, 1.02 * most, left, width - right};
  horizontalAxis(svg, x, 4, bottom, secondsUnit(most), "time of a step");
  for (auto [row, plan] : llvm::enumerate(plans)) {
    double y = 8 + pitch * static_cast<double>(row);
    svg.text(left + 2, y + 11, figures::seconds(plan->predicted.stepSeconds) + ":  " + labels[row],
             row == 0 ? "small strong halo" : "small halo");
    drawBar(svg, *plan, x, y + 16, 19);
  }
  std::vector<LegendEntry> entries;
  for (auto [cssClass, part] : llvm::zip(kClasses, figures::timeParts()))
    for (const Plan *plan : plans)
      if (plan->predicted.times.*part.seconds > 0) {
        entries.push_back({cssClass, part.name});
        break;
      }
  return legend(entries) + figure(svg.finish(), "Seconds of the slowest stage; exposed is what no "
                                                "computation hides.");
}

} // namespace dtc::html

// All candidates by memory and step time.
#include "compiler/show/report/FrontierChart.h"

#include "compiler/show/report/Axis.h"

#include "compiler/decide/decisions/Words.h"
#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>

namespace dtc::html {
namespace {

std::string classOf(const Plan &plan) {
  const Decisions &d = plan.decisions;
  bool isPartial = !d.mayRecomputeMore() && dtc::isPartial(d.recompute);
  return "re-" + (isPartial ? "partial" : recomputeText(d));
}

class Frontier {
public:
  Frontier(const PlanResult &planResult, int64_t limit)
      : planResult(planResult), limit(static_cast<double>(limit)) {
    plans.push_back(&planResult.best);
    for (const Plan &other : planResult.others)
      plans.push_back(&other);
  }

  std::string run() {
    std::string frame = drawing();
    llvm::StringSet<> drawn;
    for (const Plan *plan : plans)
      drawn.insert(classOf(*plan));
    std::vector<LegendEntry> entries;
    for (auto [cssClass, name] : {std::pair{"re-none", "keeps all activations"},
                                  {"re-selective", "recomputes what is cheap"},
                                  {"re-partial", "recomputes attention or products, too"},
                                  {"re-mixed", "some layers recompute"},
                                  {"re-full", "recomputes all"}})
      if (drawn.contains(cssClass))
        entries.push_back({cssClass, name});
    return legend(entries) +
           figure(frame, "Each point is a candidate that fits, one of the fastest " +
                             std::to_string(plans.size()) + " of " +
                             std::to_string(planResult.best.search.candidates) +
                             "; hover for its settings. The ring is the plan, the line joins "
                             "candidates that nothing beats in both memory and time.");
  }

private:
  static double memoryOf(const Plan &plan) {
    return static_cast<double>(plan.predicted.peakMemoryBytes);
  }
  static double secondsOf(const Plan &plan) { return plan.predicted.stepSeconds; }

  std::string drawing() {
    double bound = planResult.best.search.searchBoundSeconds, fastest = secondsOf(*plans[0]),
           slowest = fastest, most = limit, least = memoryOf(*plans[0]);
    for (const Plan *plan : plans) {
      fastest = std::min(fastest, secondsOf(*plan));
      slowest = std::max(slowest, secondsOf(*plan));
      most = std::max(most, memoryOf(*plan));
      least = std::min(least, memoryOf(*plan));
    }
    double low = bound > 0 ? std::min(bound, fastest) : fastest;
    double margin = std::max(0.06 * (slowest - low), 0.005 * slowest);
    Scale x{0, 1.04 * most, left, width - right};
    Scale y{std::max(0.0, low - margin), slowest + margin, bottom, top};
    if (least > 0.5 * most)
      x.low = 0.8 * least;
    Svg svg(width, bottom + 40, "frontier", "Candidates by memory and step time",
            std::to_string(plans.size()) + " candidates; the plan takes " +
                figures::seconds(secondsOf(planResult.best)) + " a step and " +
                figures::bytes(planResult.best.predicted.peakMemoryBytes) + " a device");
    verticalAxis(svg, y, left, width - right, secondsUnit(y.high), "step time", 6);
    horizontalAxis(svg, x, top, bottom, bytesUnit(x.high), "memory of the fullest device");
    drawLines(svg, x, y, bound);
    for (size_t index = plans.size(); index-- > 0;)
      svg.circle(x(memoryOf(*plans[index])), y(secondsOf(*plans[index])), 4.5,
                 "point " + classOf(*plans[index]), hoverOf(*plans[index]));
    double chosenX = x(memoryOf(planResult.best)), chosenY = y(secondsOf(planResult.best));
    svg.circle(chosenX, chosenY, 8.5, "chosen", hoverOf(planResult.best));
    bool toTheLeft = chosenX > width - 160;
    svg.text(chosenX + (toTheLeft ? -14 : 14), chosenY - 9, "the plan", "strong halo",
             toTheLeft ? "end" : "start");
    return svg.finish();
  }

  void drawLines(Svg &svg, const Scale &x, const Scale &y, double bound) const {
    svg.line(x(limit), top, x(limit), bottom, "limit");
    svg.text(x(limit) - 5, top + 12, "limit", "limit-text halo", "end");
    if (bound > 0) {
      svg.line(left, y(bound), width - right, y(bound), "bound");
      svg.text(left + 4, y(bound) - 5, "lower bound " + figures::seconds(bound), "tick halo");
    }
    std::vector<const Plan *> sorted(plans);
    llvm::sort(sorted, [](const Plan *a, const Plan *b) {
      return std::pair(memoryOf(*a), secondsOf(*a)) < std::pair(memoryOf(*b), secondsOf(*b));
    });
    std::string data;
    double best = 0;
    for (const Plan *plan : sorted) {
      if (!data.empty() && secondsOf(*plan) >= best)
        continue;
      data += data.empty()
                  ? "M" + coordinate(x(memoryOf(*plan))) + " " + coordinate(y(secondsOf(*plan)))
                  : "H" + coordinate(x(memoryOf(*plan))) + "V" + coordinate(y(secondsOf(*plan)));
      best = secondsOf(*plan);
    }
    svg.path(data, "frontier");
  }

  static std::string hoverOf(const Plan &plan) {
    return figures::settingsText(plan) + ": " + figures::seconds(secondsOf(plan)) + ", " +
           figures::bytes(plan.predicted.peakMemoryBytes);
  }

  static constexpr double width = 1056, left = 58, right = 14, top = 28, bottom = 360;
  const PlanResult &planResult;
  double limit;
  std::vector<const Plan *> plans;
};

} // namespace

std::string frontierFigure(const PlanResult &planResult, int64_t limit) {
  return Frontier(planResult, limit).run();
}

} // namespace dtc::html

#include "compiler/show/runs/StackedChart.h"

#include "compiler/show/explain/Figures.h"
#include "compiler/show/runs/CurveChart.h"

#include <algorithm>
#include <cmath>

namespace dtc::html {
namespace {

constexpr double kWidth = 1056, kLeft = 64, kRight = 14;

double valueOf(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

// Returns the means of a part in each column.
std::vector<double> meansOf(const StackedChart &chart, const StackedPart &part, size_t columns) {
  std::vector<double> means;
  for (size_t i = 0; i < columns; ++i) {
    size_t begin = chart.steps.size() * i / columns, end = chart.steps.size() * (i + 1) / columns;
    double sum = 0;
    for (size_t step = begin; step < end; ++step)
      sum += valueOf(part.values[step]);
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

std::string hoverOf(const StackedChart &chart, const StackedPart &part) {
  double last = valueOf(part.values.back());
  return part.name + ": " + (chart.isShare ? figures::percent(last, 1) : figures::seconds(last)) +
         " at the end";
}

std::vector<LegendEntry> entriesOf(const StackedChart &chart) {
  std::vector<LegendEntry> entries;
  for (const StackedPart &part : chart.parts)
    if (std::any_of(part.values.begin(), part.values.end(), [](double v) { return v > 0; }))
      entries.push_back({part.cssClass, part.name});
  return entries;
}

} // namespace

std::string draw(const StackedChart &chart) {
  constexpr double top = 28, bottom = 220;
  std::vector<LegendEntry> entries = entriesOf(chart);
  if (entries.empty())
    return "<p>" + escape(chart.title) + ": the log has no values.</p>\n";
  size_t count = std::min<size_t>(chart.steps.size(), 480);
  std::vector<std::vector<double>> tops; // heights of each part and all below it
  std::vector<double> base(count, 0);
  for (const StackedPart &part : chart.parts) {
    std::vector<double> means = meansOf(chart, part, count);
    for (size_t i = 0; i < count; ++i)
      base[i] += means[i];
    tops.push_back(base);
  }
  double most = chart.isShare ? 1 : 1.06 * *std::max_element(base.begin(), base.end());
  Scale x = stepScale(chart.steps.front() - 0.5, chart.steps.back() + 0.5, kLeft, kWidth - kRight);
  Scale y{0, std::max(most, 1e-30), bottom, top};
  Svg svg(kWidth, bottom + 40, chart.id, chart.title, chart.axis + " over the steps");
  verticalAxis(svg, y, kLeft, kWidth - kRight, chart.isShare ? Unit{"%", 0.01} : secondsUnit(most),
               chart.axis, 5);
  auto edge = [&](size_t column) {
    return coordinate(x.from +
                      (x.to - x.from) * static_cast<double>(column) / static_cast<double>(count));
  };
  for (size_t part = 0; part < tops.size(); ++part) {
    std::string data = "M" + edge(0) + " " + coordinate(y(0));
    for (size_t i = 0; i < count; ++i)
      data += "V" + coordinate(y(tops[part][i])) + "H" + edge(i + 1);
    for (size_t i = count; i-- > 0;)
      data += "V" + coordinate(y(part == 0 ? 0 : tops[part - 1][i])) + "H" + edge(i);
    svg.path(data + "Z", chart.parts[part].cssClass, hoverOf(chart, chart.parts[part]));
  }
  horizontalAxis(svg, x, bottom, bottom, Unit(), "step", 10);
  return legend(entries) + svg.finish();
}

std::string drawBar(const StackedChart &chart) {
  constexpr double top = 6, height = 56;
  Svg svg(kWidth, top + height + 6, chart.id + "-bar", chart.title,
          chart.axis + " of the whole run");
  double at = kLeft, width = kWidth - kLeft - kRight;
  for (const StackedPart &part : chart.parts) {
    double share = valueOf(part.values.back());
    svg.rect(at, top, share * width, height, part.cssClass,
             part.name + ": " + figures::percent(share, 1));
    if (share > 0.12)
      svg.text(at + share * width / 2, top + height / 2 + 4,
               part.name + " " + figures::percent(share, 1), "inside", "middle");
    at += share * width;
  }
  return svg.finish();
}

} // namespace dtc::html

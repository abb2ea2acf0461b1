#include "compiler/show/runs/CurveChart.h"

#include "compiler/show/explain/Figures.h"

#include <algorithm>
#include <cmath>

namespace dtc::html {
namespace {

struct Range {
  double low = INFINITY, high = -INFINITY;
  void take(double value) {
    if (!std::isfinite(value))
      return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Range rangeOf(const CurveChart &chart) {
  Range range;
  for (const std::vector<CurvePoint> *points : {&chart.curve, &chart.spots})
    for (const CurvePoint &point : *points)
      range.take(point.second);
  if (range.low > range.high)
    return range;
  if (chart.limit > 0)
    range.take(chart.limit);
  if (chart.fromZero)
    range.low = std::min(range.low, 0.0);
  // Ticks need a range that double-precision numbers can divide.
  double least = std::max(1e-6 * std::max(std::abs(range.low), std::abs(range.high)), 1e-30);
  double margin = std::max(0.06 * (range.high - range.low), least);
  range.high += margin;
  if (!chart.fromZero)
    range.low -= margin;
  return range;
}

void drawCurve(Svg &svg, const std::vector<CurveColumn> &columns, const Scale &x, const Scale &y) {
  std::string mean, upper, lower;
  auto at = [&](double step, double value) {
    return coordinate(x(step)) + " " + coordinate(y(value));
  };
  size_t run = 0; // columns since the last gap
  auto endRun = [&](size_t end) {
    if (run == 1)
      svg.circle(x(columns[end - 1].x), y(columns[end - 1].mean), 2, "lone");
    else if (run > 1) {
      svg.path("M" + upper + lower + "Z", "band");
      svg.path("M" + mean, "curve");
    }
    mean = upper = lower = "";
    run = 0;
  };
  for (size_t i = 0; i < columns.size(); ++i) {
    const CurveColumn &column = columns[i];
    if (std::isnan(column.mean)) {
      endRun(i);
      continue;
    }
    mean += (run ? "L" : "") + at(column.x, column.mean);
    upper += (run ? "L" : "") + at(column.x, column.high);
    lower = "L" + at(column.x, column.low) + lower;
    ++run;
  }
  endRun(columns.size());
}

} // namespace

std::vector<CurveColumn> columnsOf(const std::vector<CurvePoint> &points, size_t most) {
  std::vector<CurveColumn> columns;
  size_t count = std::min(most, points.size());
  for (size_t i = 0; i < count; ++i) {
    size_t begin = points.size() * i / count, end = points.size() * (i + 1) / count;
    Range range;
    double sum = 0, known = 0;
    for (size_t point = begin; point < end; ++point)
      if (std::isfinite(points[point].second)) {
        range.take(points[point].second);
        sum += points[point].second;
        ++known;
      }
    double middle = (points[begin].first + points[end - 1].first) / 2;
    columns.push_back({middle, known > 0 ? sum / known : NAN, range.low, range.high});
  }
  return columns;
}

Scale stepScale(double first, double last, double left, double right) {
  return first < last ? Scale{first, last, left, right}
                      : Scale{first - 0.5, first + 0.5, left, right};
}

std::string draw(const CurveChart &chart) {
  const double width = chart.isHalf ? 520 : 1056, left = 64, right = 14, top = 28,
               bottom = chart.isHalf ? 180 : 260;
  Range range = rangeOf(chart);
  if (range.low > range.high || chart.curve.empty())
    return "<p>" + escape(chart.title) + ": the log has no values.</p>\n";
  const double first = chart.curve.front().first, last = chart.curve.back().first;
  Scale x = stepScale(first, last, left, width - right);
  Scale y{range.low, range.high, bottom, top};
  Svg svg(width, bottom + 40, chart.id, chart.title,
          chart.axis + " of steps " + figures::number(first, 9) + " to " +
              figures::number(last, 9));
  verticalAxis(svg, y, left, width - right, chart.unit, chart.axis, chart.isHalf ? 4 : 6);
  horizontalAxis(svg, x, top, bottom, Unit(), "step", chart.isHalf ? 5 : 10);
  for (const CurveMark &mark : chart.marks)
    svg.path("M" + coordinate(x(mark.step)) + " " + coordinate(top) + "V" + coordinate(bottom),
             "event", mark.hover);
  if (chart.limit > 0) {
    svg.line(left, y(chart.limit), width - right, y(chart.limit), "limit");
    svg.text(width - right - 2, y(chart.limit) - 5, chart.limitText, "limit-text halo", "end");
  }
  drawCurve(svg, columnsOf(chart.curve, chart.isHalf ? 220 : 480), x, y);
  for (const CurveColumn &spot : columnsOf(chart.spots, 240))
    if (!std::isnan(spot.mean))
      svg.circle(x(spot.x), y(spot.mean), 4, "spot",
                 "step " + figures::number(spot.x, 9) + ": " + figures::number(spot.mean, 6));
  return svg.finish();
}

} // namespace dtc::html

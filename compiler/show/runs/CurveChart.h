// Curves over the steps of a run. Internal to this folder.
#pragma once

#include "compiler/show/report/Axis.h"

#include <string>
#include <utility>
#include <vector>

namespace dtc::html {

// A value at a step; NaN is a gap in the curve.
using CurvePoint = std::pair<double, double>;

// The mean, the smallest and the largest value of neighbouring points. The means of a gap are NaN.
struct CurveColumn {
  double x = 0, mean = 0, low = 0, high = 0;
};
// Divides the points, in order of x, into at most `most` columns of about as many points each. A
// column leaves out NaN; it is a gap if it has nothing else.
std::vector<CurveColumn> columnsOf(const std::vector<CurvePoint> &points, size_t most);

// A vertical line at a step.
struct CurveMark {
  double step = 0;
  std::string hover;
};

// A chart of one curve, and of single values beside it.
struct CurveChart {
  std::string id, title;              // `id` is unique on the page
  std::string axis;                   // name of the vertical axis
  Unit unit = {};                     // unit of the values
  std::vector<CurvePoint> curve = {}; // ordered by step
  std::vector<CurvePoint> spots = {}; // such as evaluations
  std::vector<CurveMark> marks = {};
  double limit = 0;           // a horizontal line; 0: none
  std::string limitText = {}; // the name of that line
  bool fromZero = false;      // the axis begins at 0
  bool isHalf = false;        // half of the page's width
};

// Draws the chart. Returns an SVG element, or a paragraph if no value is known.
std::string draw(const CurveChart &chart);

// The scale of steps that all charts of a run share, from `left` to `right`.
Scale stepScale(double first, double last, double left, double right);

} // namespace dtc::html

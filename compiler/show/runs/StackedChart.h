// Parts of a whole over the steps of a run. Internal to this folder.
#pragma once

#include "compiler/show/report/Axis.h"

#include <string>
#include <vector>

namespace dtc::html {

// One part: a value for each step; NaN counts as 0.
struct StackedPart {
  std::string cssClass, name;
  std::vector<double> values;
};

// A chart of parts on top of each other, the first one at the bottom.
struct StackedChart {
  std::string id, title; // `id` is unique on the page
  std::string axis;      // name of the vertical axis
  std::vector<double> steps = {};
  std::vector<StackedPart> parts = {}; // each has a value for each step
  bool isShare = false;                // the values are shares of 1; otherwise they are seconds
};

// Draws the legend and the chart. Returns HTML, or a paragraph if no value is above 0.
std::string draw(const StackedChart &chart);

// A bar of shares of 1 beside each other, such as those at the end of a run. Returns an SVG
// element.
std::string drawBar(const StackedChart &chart);

} // namespace dtc::html

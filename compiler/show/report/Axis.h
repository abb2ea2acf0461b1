// Axes of charts.
#pragma once

#include "compiler/show/report/Html.h"

#include <vector>

namespace dtc::html {

// Maps [low, high] onto [from, to], which may run backwards.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  // Maps a value.
  double operator()(double value) const {
    return high > low ? from + (value - low) / (high - low) * (to - from) : from;
  }
};

// A unit that gives values up to `most` one to three digits before the point.
struct Unit {
  std::string name; // "ms", "GiB"; empty for plain numbers
  double size = 1;  // seconds, bytes or whatever is counted, in one unit
};
// Returns a unit for seconds up to `most`.
Unit secondsUnit(double most);
// Returns a unit for bytes up to `most`.
Unit bytesUnit(double most);

// Round values (1, 2 or 5 times a power of ten of the unit) in [low, high], about `count` of them.
std::vector<double> ticksOf(double low, double high, double count, const Unit &unit);

// The tick's figure without its unit. Example: tickText(0.25, {"ms", 1e-3}) is "250".
std::string tickText(double value, const Unit &unit);

// Tick lines and figures at the bottom of the box, and the axis' name with its unit below them.
void horizontalAxis(Svg &svg, const Scale &scale, double top, double bottom, const Unit &unit,
                    llvm::StringRef name, double ticks = 8);
// The same at the left; the name stands above the axis.
void verticalAxis(Svg &svg, const Scale &scale, double left, double right, const Unit &unit,
                  llvm::StringRef name, double ticks = 5);

} // namespace dtc::html

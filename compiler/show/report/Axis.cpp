// Axes of charts.
#include "compiler/show/report/Axis.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

namespace dtc::html {

Unit secondsUnit(double most) {
  return most >= 1 ? Unit{"s", 1} : most >= 1e-3 ? Unit{"ms", 1e-3} : Unit{"us", 1e-6};
}

Unit bytesUnit(double most) {
  constexpr double k = 1024;
  return most >= k * k * k * k ? Unit{"TiB", k * k * k * k}
         : most >= k * k * k   ? Unit{"GiB", k * k * k}
         : most >= k * k       ? Unit{"MiB", k * k}
                               : Unit{"KiB", k};
}

std::vector<double> ticksOf(double low, double high, double count, const Unit &unit) {
  std::vector<double> ticks;
  double range = (high - low) / unit.size;
  if (!(range > 0) || !std::isfinite(range) || count < 1)
    return ticks;
  double raw = range / count, power = std::pow(10, std::floor(std::log10(raw)));
  double step = raw <= power       ? power
                : raw <= 2 * power ? 2 * power
                : raw <= 5 * power ? 5 * power
                                   : 10 * power;
  double first = std::ceil(low / unit.size / step - 1e-9);
  for (double tick = first; tick * step <= high / unit.size * (1 + 1e-9); ++tick)
    ticks.push_back(tick * step * unit.size);
  return ticks;
}

std::string tickText(double value, const Unit &unit) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", value / unit.size);
  return text == "-0" ? "0" : text;
}

static std::string axisName(llvm::StringRef name, const Unit &unit) {
  return name.str() + (unit.name.empty() ? "" : " (" + unit.name + ")");
}

void horizontalAxis(Svg &svg, const Scale &scale, double top, double bottom, const Unit &unit,
                    llvm::StringRef name, double ticks) {
  for (double tick : ticksOf(scale.low, scale.high, ticks, unit)) {
    svg.line(scale(tick), top, scale(tick), bottom, "grid");
    svg.text(scale(tick), bottom + 15, tickText(tick, unit), "tick", "middle");
  }
  svg.line(scale.from, bottom, scale.to, bottom, "axis");
  svg.text(scale.to, bottom + 31, axisName(name, unit), "tick", "end");
}

void verticalAxis(Svg &svg, const Scale &scale, double left, double right, const Unit &unit,
                  llvm::StringRef name, double ticks) {
  for (double tick : ticksOf(scale.low, scale.high, ticks, unit)) {
    svg.line(left, scale(tick), right, scale(tick), "grid");
    svg.text(left - 6, scale(tick) + 4, tickText(tick, unit), "tick", "end");
  }
  svg.text(left, std::min(scale.from, scale.to) - 8, axisName(name, unit), "tick");
}

} // namespace dtc::html

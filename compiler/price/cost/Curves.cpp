// Interpolation between measured points.
#include "compiler/price/cost/Curves.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dtc {

void PointCloud::add(const Coordinates &coordinates, double value) {
  if (points.empty())
    low = high = coordinates;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    low[i] = std::min(low[i], coordinates[i]);
    high[i] = std::max(high[i], coordinates[i]);
  }
  points.push_back(coordinates);
  logValues.push_back(std::log(value));
}

double PointCloud::at(Coordinates coordinates) const {
  assert(!points.empty() && "a cloud without points has no value");
  for (size_t i = 0; i < coordinates.size(); ++i)
    coordinates[i] = std::clamp(coordinates[i], low[i], high[i]);
  double weights = 0, sum = 0;
  for (size_t point = 0; point < points.size(); ++point) {
    double square = 0;
    for (size_t i = 0; i < coordinates.size(); ++i) {
      double apart = coordinates[i] - points[point][i];
      square += apart * apart;
    }
    if (square < 1e-12)
      return std::exp(logValues[point]);
    double weight = 1 / (square * square * square);
    weights += weight;
    sum += weight * logValues[point];
  }
  return std::exp(sum / weights);
}

double PointCloud::most() const {
  assert(!points.empty() && "a cloud without points has no value");
  return std::exp(*std::max_element(logValues.begin(), logValues.end()));
}

void ByteCurve::add(double bytes, double seconds) {
  assert((logBytes.empty() || std::log(bytes) > logBytes.back()) && "bytes ascend");
  logBytes.push_back(std::log(bytes));
  logSeconds.push_back(std::log(seconds));
  for (double &less : logSeconds)
    less = std::min(less, logSeconds.back());
}

double ByteCurve::at(double bytes, llvm::function_ref<double(double)> model) const {
  assert(!logBytes.empty() && "a curve without points has no value");
  double logSize = std::log(bytes);
  auto above = std::lower_bound(logBytes.begin(), logBytes.end(), logSize);
  size_t index = static_cast<size_t>(above - logBytes.begin());
  bool below = index == 0, beyond = index == logBytes.size();
  if (!below && !beyond) {
    double share = (logSize - logBytes[index - 1]) / (logBytes[index] - logBytes[index - 1]);
    return std::exp((1 - share) * logSeconds[index - 1] + share * logSeconds[index]);
  }
  size_t end = below ? 0 : logBytes.size() - 1;
  if (logSize == logBytes[end])
    return std::exp(logSeconds[end]);
  return std::exp(logSeconds[end]) * model(bytes) / model(std::exp(logBytes[end]));
}

} // namespace dtc

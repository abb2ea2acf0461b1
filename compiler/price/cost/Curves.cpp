// Interpolation between measured points.
#include "compiler/price/cost/Curves.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace dtc {

void PointCloud::add(const Place &place, double value) {
  if (places.empty())
    low = high = place;
  for (size_t i = 0; i < place.size(); ++i) {
    low[i] = std::min(low[i], place[i]);
    high[i] = std::max(high[i], place[i]);
  }
  places.push_back(place);
  logValues.push_back(std::log(value));
}

double PointCloud::at(Place place) const {
  assert(!places.empty() && "a cloud without points has no value");
  for (size_t i = 0; i < place.size(); ++i)
    place[i] = std::clamp(place[i], low[i], high[i]);
  double weights = 0, sum = 0;
  for (size_t point = 0; point < places.size(); ++point) {
    double square = 0;
    for (size_t i = 0; i < place.size(); ++i) {
      double apart = place[i] - places[point][i];
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
  assert(!places.empty() && "a cloud without points has no value");
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
  double place = std::log(bytes);
  auto above = std::lower_bound(logBytes.begin(), logBytes.end(), place);
  size_t index = static_cast<size_t>(above - logBytes.begin());
  bool below = index == 0, beyond = index == logBytes.size();
  if (!below && !beyond) {
    double share = (place - logBytes[index - 1]) / (logBytes[index] - logBytes[index - 1]);
    return std::exp((1 - share) * logSeconds[index - 1] + share * logSeconds[index]);
  }
  size_t end = below ? 0 : logBytes.size() - 1;
  if (place == logBytes[end])
    return std::exp(logSeconds[end]);
  return std::exp(logSeconds[end]) * model(bytes) / model(std::exp(logBytes[end]));
}

} // namespace dtc

// Averages subgradients and adapts the length of steps.
#include "compiler/search/solver/PriceAscent.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dtc::solver {
namespace {

// The level that steps aim at is this share of the best value above it, or as near as the target
// is.
constexpr double kFarthest = 0.05, kNearest = 1e-3;
// Rises of less than this share do not count.
constexpr double kLeastRise = 1e-5;
constexpr int kPatience = 5;
constexpr double kGrow = 1.03, kShrink = 0.7, kShrinkWhereFar = 0.8, kLongest = 2;
// A value is far below the best one if it is this share of the distance to the level below it.
constexpr double kFar = 0.3;
// The rate is halved after so many moves that gained less than this share.
constexpr int kRateWindow = 100;
constexpr double kLeastGain = 0.01, kLeastRate = 0.01;

} // namespace

PriceAscent::PriceAscent(std::vector<double> start, double rate)
    : price(std::move(start)), best(price), direction(price.size(), 0.0), rate(rate) {}

bool PriceAscent::see(double value) {
  last = value;
  before = bestSeen;
  if (value <= bestSeen)
    return false;
  bestSeen = value;
  best = price;
  return true;
}

// Returns true if prices return to the best ones.
bool PriceAscent::adapt(bool along, double reach) {
  bool rises = last >= bestSeen && moves > 1 && last > before + kLeastRise * std::abs(before);
  if (rises && along)
    stepSize = std::min(kLongest, stepSize * kGrow);
  inVain = rises ? 0 : inVain + 1;
  if (last < bestSeen - kFar * reach) {
    stepSize *= kShrinkWhereFar;
    inVain = 0;
    return true;
  }
  if (inVain <= kPatience)
    return false;
  stepSize *= kShrink;
  inVain = 0;
  return true;
}

bool PriceAscent::move(const std::vector<double> &gradient, double target) {
  if (++moves == 1)
    direction = gradient;
  if (moves % kRateWindow == 0) {
    if (rate > kLeastRate && bestSeen < milestone + kLeastGain * std::abs(milestone))
      rate = std::max(kLeastRate, rate / 2);
    milestone = bestSeen;
  }
  double along = 0;
  for (size_t t = 0; t < gradient.size(); ++t)
    along += gradient[t] * direction[t];
  double size = std::max(std::abs(bestSeen), 1.0);
  double reach = std::clamp(target - bestSeen, kNearest * size, kFarthest * size);
  bool back = adapt(along > 0, reach);
  if (back)
    price = best;
  double norm = 0;
  for (size_t t = 0; t < gradient.size(); ++t) {
    direction[t] += rate * (gradient[t] - direction[t]);
    if (price[t] > 0 || direction[t] > 0)
      norm += direction[t] * direction[t];
  }
  if (norm > 0)
    for (size_t t = 0; t < gradient.size(); ++t)
      price[t] = std::max(0.0, price[t] + stepSize * reach / norm * direction[t]);
  return back;
}

void PriceAscent::restart(double newStep) {
  price = best;
  stepSize = newStep;
  bestSeen = -std::numeric_limits<double>::infinity();
  milestone = 0;
  moves = inVain = 0;
}

} // namespace dtc::solver

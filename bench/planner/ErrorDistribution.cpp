// The distribution of errors of one class of runs, drawn towards that of a wider class.
#include "bench/planner/ErrorDistribution.h"

#include <algorithm>
#include <cmath>

namespace dtc::published {
namespace {

constexpr double kMost = 2, kWidth = 0.005;
constexpr size_t kCells = 800; // 2 kMost / kWidth

size_t cellOf(double value) {
  double cell = std::floor((std::clamp(value, -kMost, kMost) + kMost) / kWidth);
  return std::min(kCells - 1, static_cast<size_t>(cell));
}

// Adds the samples to `into`. Those with a bound are distributed as `now` is within it.
void spread(const std::vector<ErrorSample> &samples, const std::vector<double> &now,
            std::vector<double> &into) {
  std::vector<double> below(kCells + 1, 0); // sum of the cells of `now` before this one
  for (size_t i = 0; i < kCells; ++i)
    below[i + 1] = below[i] + now[i];
  // The factors on the cells of `now`, as differences from cell to cell.
  std::vector<double> rises(kCells + 1, 0);
  for (const ErrorSample &sample : samples) {
    size_t cell = cellOf(sample.value);
    switch (sample.kind) {
    case ErrorSample::Kind::Exact:
      into[cell] += sample.weight;
      break;
    case ErrorSample::Kind::AtMost:
      rises[0] += sample.weight / below[cell + 1];
      rises[cell + 1] -= sample.weight / below[cell + 1];
      break;
    case ErrorSample::Kind::Above:
      // The last cell stands for all errors above the grid.
      cell = std::min(cell, kCells - 2);
      rises[cell + 1] += sample.weight / (1 - below[cell + 1]);
      break;
    }
  }
  double scale = 0;
  for (size_t i = 0; i < kCells; ++i) {
    scale += rises[i];
    into[i] += scale * now[i];
  }
}

} // namespace

ErrorDistribution ErrorDistribution::laplace(double scale) {
  ErrorDistribution result;
  double sum = 0;
  for (size_t i = 0; i < kCells; ++i) {
    double middle = (static_cast<double>(i) + 0.5) * kWidth - kMost;
    sum += result.mass.emplace_back(std::exp(-std::abs(middle) / scale));
  }
  for (double &each : result.mass)
    each /= sum;
  return result;
}

ErrorDistribution ErrorDistribution::of(const std::vector<ErrorSample> &samples,
                                        double pull) const {
  ErrorDistribution result = *this;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> next(kCells);
    for (size_t i = 0; i < kCells; ++i)
      next[i] = pull * mass[i];
    spread(samples, result.mass, next);
    double sum = 0, moved = 0;
    for (double each : next)
      sum += each;
    for (size_t i = 0; i < kCells; ++i) {
      next[i] /= sum;
      moved += std::abs(next[i] - result.mass[i]);
    }
    result.mass = std::move(next);
    if (moved < 1e-9)
      break;
  }
  return result;
}

double ErrorDistribution::shareBelow(double value) const {
  size_t cell = cellOf(value);
  double share = 0;
  for (size_t i = 0; i < cell; ++i)
    share += mass[i];
  double part = (std::clamp(value, -kMost, kMost) + kMost) / kWidth - static_cast<double>(cell);
  return share + std::min(part, 1.0) * mass[cell];
}

double ErrorDistribution::quantile(double share) const {
  double below = 0;
  for (size_t i = 0; i < kCells; ++i) {
    if (below + mass[i] >= share && mass[i] > 0)
      return (static_cast<double>(i) + (share - below) / mass[i]) * kWidth - kMost;
    below += mass[i];
  }
  return kMost;
}

} // namespace dtc::published

// Measures how far two runs of one training differ.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dtc {

// The results of a run: its loss per step, and tensors by name.
struct TrainedRun {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> gradients; // gradients of the last step
  std::map<std::string, std::vector<float>> parameters;
};

// The deviation of one tensor, or of all losses.
struct Deviation {
  std::string name;
  // The largest |a - b|, and its root mean square, over the root mean square of b. A gradient that
  // is zero but for rounding is as exact as all are: it counts over 1e-3 of the root mean square of
  // all gradients where its own is less. Infinite where something is missing or not finite.
  double largest = 0, meanSquare = 0;
};

// The deviations of two runs.
struct Deviations {
  Deviation loss; // relative
  std::vector<Deviation> gradients, parameters;

  // The worst by `largest`; none where there are none.
  static const Deviation *worstOf(const std::vector<Deviation> &all);
};

// Compares a run with the expected one.
Deviations compareRuns(const TrainedRun &found, const TrainedRun &wanted);

// In f32 two plans differ by the order of sums: `largest` of a few thousand terms' rounding errors,
// kF32Tolerance.
inline constexpr double kF32Tolerance = 1e-4;

// The first thing of `found` that is further off than it may be, in words; none where all match.
// Without `rounding` the bound is kF32Tolerance. In a lower precision two runs are two roundings of
// the one in f32: with `rounding`, how far one process in that precision is from f32, they may by
// the triangle inequality differ by twice as much, in the mean square of each tensor.
std::optional<std::string> findMismatch(const Deviations &found, const Deviations *rounding);

} // namespace dtc

// Interpolation between measured points. Internal to this folder.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <vector>

namespace dtc {

// Values at scattered points: the weighted mean of their logarithms, weights falling with the sixth
// power of the distance, so that the nearest decide. Exact at a point; never beyond the least and
// greatest value. Example: with 0.5 at (10, 10) and 1 at (12, 10), at (10, 10) it is 0.5, at
// (11, 10) 0.71, at (20, 10) 1.
class PointCloud {
public:
  using Coordinates = std::array<double, 5>; // logarithms to base 2; unused coordinates 0

  // Adds a positive value at a point.
  void add(const Coordinates &coordinates, double value);
  // Returns true if there are no values.
  bool isEmpty() const { return points.empty(); }
  // `point` is first moved to the nearest point of the box around all points. Not empty.
  double at(Coordinates coordinates) const;
  // The greatest value. Not empty.
  double most() const;

private:
  std::vector<Coordinates> points;
  std::vector<double> logValues;
  Coordinates low{}, high{};
};

// Seconds over bytes: straight in log space between points. Seconds never fall as bytes grow: where
// they were measured to, both points get the less, for what disturbs a run only makes it longer.
// Beyond the ends the shape of `model` goes on.
class ByteCurve {
public:
  // Points of ascending bytes.
  void add(double bytes, double seconds);
  // Returns true if there are no points.
  bool isEmpty() const { return logBytes.empty(); }
  // `model` rises with bytes. Not empty.
  double at(double bytes, llvm::function_ref<double(double)> model) const;

private:
  std::vector<double> logBytes, logSeconds;
};

} // namespace dtc

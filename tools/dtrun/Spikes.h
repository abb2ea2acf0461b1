// Losses that leave all that came before behind.
#pragma once

#include <cstdint>

namespace dtc::rt {

// The running mean of the losses of steps, of which a later one weighs more: the first kSteady alike,
// then each new one with 1 / kSteady.
struct LossMean {
  double value = 0;
  uint64_t steps = 0;

  static constexpr uint64_t kSteady = 20;
  void add(double loss);
};

// Whether a loss is more than `factor` times the mean, or no number at all. A mean that is not above 0
// says nothing of what is large. Until there are kFewestBeforeSpike steps nothing is known of what is usual, and only what is no finite number is a spike.
// Example: isSpike({2.0, 10}, 7.0, 3) is true.
inline constexpr uint64_t kFewestBeforeSpike = 5;
bool isSpike(const LossMean &mean, double loss, double factor);

// Roll-backs to one checkpoint that a run may make one after another: where each window of data ends in
// a spike, the data are not what is wrong.
inline constexpr uint64_t kMostRollBacks = 3;

} // namespace dtc::rt

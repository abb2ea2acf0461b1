// Finds losses that are far above all earlier ones.
#pragma once

#include <cstdint>

namespace dtc::rt {

// The running mean of the losses, in which later steps weigh more: the first kSteady count equally,
// then each new one counts 1 / kSteady.
struct LossMean {
  double value = 0;
  uint64_t steps = 0;

  static constexpr uint64_t kSteady = 20;
  // Adds the loss of a step.
  void add(double loss);
};

// Steps with a finite loss that are needed before a finite loss can be a spike.
inline constexpr uint64_t kFewestBeforeSpike = 5;
// Returns true if a loss is not finite, or is more than `factor` times the mean. With fewer than
// kFewestBeforeSpike steps, or with a mean that is not above 0, only a loss that is not finite is a
// spike.
// Example: isSpike({2.0, 10}, 7.0, 3) is true.
bool isSpike(const LossMean &mean, double loss, double factor);

// Most roll-backs to one checkpoint in a row. If each window of data ends in a spike, the data are
// not the cause.
inline constexpr uint64_t kMostRollBacks = 3;

} // namespace dtc::rt

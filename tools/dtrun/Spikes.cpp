#include "tools/dtrun/Spikes.h"

#include <algorithm>
#include <cmath>

namespace dtc::rt {

void LossMean::add(double loss) {
  ++steps;
  value += (loss - value) / static_cast<double>(std::min(steps, kSteady));
}

bool isSpike(const LossMean &mean, double loss, double factor) {
  if (!std::isfinite(loss))
    return true;
  return mean.steps >= kFewestBeforeSpike && mean.value > 0 && loss > factor * mean.value;
}

} // namespace dtc::rt

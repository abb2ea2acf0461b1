#include "compiler/price/cost/OpCost.h"

#include "compiler/price/cost/CalibratedCost.h"

#include <algorithm>

namespace dtc {

// Converts seconds measured with single launches to replayed ones. Consecutive kernels take the
// longer of kernel and launch. So a time equal to a launch may be all launch, and a time twice as
// long has hidden the next launch; between them, interpolates linearly.
static double replayedSeconds(double single, const DeviceKind &device) {
  double launch = device.launchLatency, saved = launch - device.replayLatency();
  if (launch <= 0 || single >= 2 * launch || saved <= 0)
    return single;
  return std::max(single - saved * (2 * launch - single) / launch, device.replayLatency());
}

double secondsOf(const OpWork &work, const DeviceKind &device, Launch launch) {
  if (work.flops <= 0 && work.bytes <= 0)
    return 0;
  if (!device.calibration)
    return modelSeconds(work, device, launch);
  double single = calibratedSeconds(
      work, device, [&](const OpWork &part) { return modelSeconds(part, device, Launch::Single); });
  return launch == Launch::Single ? single : replayedSeconds(single, device);
}

double leastSecondsOf(const OpWork &work, const DeviceKind &device) {
  if (work.kind == WorkKind::Memory && device.calibration)
    return 0;
  double seconds = leastModelSeconds(work, device);
  bool isMeasured = work.kind != WorkKind::Memory && device.calibration;
  return isMeasured ? seconds / mostEfficiency(work, device) : seconds;
}

} // namespace dtc

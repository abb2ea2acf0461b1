#include "compiler/describe/topology/Calibration.h"

#include <cmath>
#include <limits>

namespace dtc {

llvm::StringRef nameOf(CollectiveKind kind) {
  return kCollectiveKindNames[static_cast<size_t>(kind)];
}
llvm::StringRef nameOf(MemoryPattern pattern) {
  return kMemoryPatternNames[static_cast<size_t>(pattern)];
}

// Returns the nearest measured latency, or `latency` if none of the kind was measured.
static double measuredLatency(const Calibration &calibration, bool graph, int64_t units,
                              double latency) {
  double least = std::numeric_limits<double>::infinity();
  for (const LaunchPoint &point : calibration.launches) {
    double apart = std::abs(std::log2(static_cast<double>(point.units)) -
                            std::log2(static_cast<double>(units)));
    if (point.graph != graph || apart >= least)
      continue;
    least = apart;
    latency = point.time.seconds;
  }
  return latency;
}

void setLaunches(DeviceKind &device, const Calibration &calibration) {
  const DeviceKind &ofFile = calibration.device;
  device.launchLatency =
      measuredLatency(calibration, false, device.computeUnits, ofFile.launchLatency);
  device.graphLatency =
      measuredLatency(calibration, true, device.computeUnits, ofFile.graphLatency);
}

} // namespace dtc

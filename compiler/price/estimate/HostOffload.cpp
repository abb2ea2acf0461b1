// Optimizer states in the host's memory, and their update there.
#include "compiler/price/estimate/HostOffload.h"

#include <algorithm>

namespace dtc {
namespace {

// The share of a link's rate that copies of pinned memory reach: 25 GB/s of PCIe 4.0's 31.5.
constexpr double kLinkShare = 0.8;
// The share of the host's memory bandwidth that an update on its cores reaches. Keeping the whole
// optimizer of Qwen3-30B-A3B on the hosts of 16 H100 takes 2.88 s a step more, copies overlapped
// (NVIDIA-NeMo/Megatron-Bridge, skills/nemo-mbridge-perf-cpu-offloading/card.yaml): a node of 614
// GB/s updates 15.3 G parameters of 36 bytes, as counted below.
constexpr double kMemoryShare = 0.31;
// A copy's launch and the host's wait for it.
constexpr double kCopyLatency = 20e-6;     // assumed
constexpr double kMemoryForTraining = 0.9; // assumed

} // namespace

HostUpdate updateOnHost(double parameters, const CellPrecision &p, const HostShare &host) {
  HostUpdate update;
  if (!host.isKnown())
    return update;
  // States that have no master copy of a parameter need the parameter itself beside them; otherwise
  // the returned parameters are a copy of their own.
  bool hasMaster = p.parameterBytes < 4;
  double states = p.optimizerBytes + (hasMaster ? 0 : p.parameterBytes);
  update.bytes = parameters * (states + p.gradientBytes + (hasMaster ? p.parameterBytes : 0));
  double link = kLinkShare * host.linkBandwidth;
  update.toHostSeconds = kCopyLatency + parameters * p.gradientBytes / link;
  // States are read and written; gradients and parameters are written by one side and read by the
  // other.
  double traffic = 2 * states + 2 * p.gradientBytes + (hasMaster ? 2 : 1) * p.parameterBytes;
  update.updateSeconds =
      kCopyLatency + parameters * std::max(traffic / (kMemoryShare * host.memoryBandwidth),
                                           p.parameterBytes / link);
  return update;
}

double hostCopySeconds(double bytes, const HostShare &host) {
  return kCopyLatency + bytes / (kLinkShare * host.linkBandwidth);
}

double hostWorkSeconds(double bytes, const HostShare &host) {
  return bytes / (kMemoryShare * host.memoryBandwidth);
}

double hostMemoryFor(const HostShare &host) {
  return kMemoryForTraining * static_cast<double>(host.memoryBytes);
}

} // namespace dtc

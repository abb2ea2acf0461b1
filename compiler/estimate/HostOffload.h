// Optimizer states in the host's memory, and their update there (ZeRO-Offload: Ren et al. 2021,
// arXiv:2101.06840).
#pragma once

#include "compiler/estimate/CellCost.h"

namespace dtc {

// Of the parameters that one device updates.
struct HostUpdate {
  double bytes = 0;         // of its host's memory
  double toHostSeconds = 0; // gradients on their way, which the backward pass may hide
  // From the last gradient's arrival until the device has the new parameters. They go back piece by
  // piece while the next piece is updated, so that the slower of the two counts.
  double updateSeconds = 0;
};

// All devices of a node update theirs at the same time.
HostUpdate updateOnHost(double parameters, const CellPrecision &precision, const HostShare &host);

// A copy of `bytes` between a device and its host, and work of the host that reads and writes them.
double hostCopySeconds(double bytes, const HostShare &host);
double hostWorkSeconds(double bytes, const HostShare &host);

// What of a host's memory training may have; the rest is for the system and for data.
double hostMemoryFor(const HostShare &host);

} // namespace dtc

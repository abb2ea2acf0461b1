// Optimizer states in the host's memory, and their update there (ZeRO-Offload: Ren et al. 2021,
// arXiv:2101.06840).
#pragma once

#include "compiler/estimate/CellCost.h"

namespace dtc {

// The cost of updating one device's parameters on the host.
struct HostUpdate {
  double bytes = 0;         // bytes of host memory
  double toHostSeconds = 0; // gradients on their way, which the backward pass may hide
  // Seconds from the last gradient's arrival until the device has the new parameters. Pieces are
  // copied back while the next piece is updated, so that the slower of the two counts.
  double updateSeconds = 0;
};

// All devices of a node update theirs at the same time.
HostUpdate updateOnHost(double parameters, const CellPrecision &precision, const HostShare &host);

// A copy of `bytes` between a device and its host, and work of the host that reads and writes them.
double hostCopySeconds(double bytes, const HostShare &host);
// Returns the seconds in which one device's share of the host updates `bytes` bytes.
double hostWorkSeconds(double bytes, const HostShare &host);

// Returns the bytes of host memory that training may use; the rest is for the system and for data.
double hostMemoryFor(const HostShare &host);

} // namespace dtc

// Optimizer states in the host's memory, and their update there (ZeRO-Offload: Ren et al. 2021,
// arXiv:2101.06840).
#pragma once

#include "compiler/price/estimate/CellCost.h"

namespace dtc {

// The update of one device's parameters on its host.
struct HostUpdate {
  double bytes = 0;         // bytes of host memory
  double toHostSeconds = 0; // copies of gradients, which the backward pass may hide
  // Seconds from the last gradient's arrival until the device has the new parameters. They return
  // piece by piece while the next piece is updated, so that the slower of the two counts.
  double updateSeconds = 0;
};

// Returns the update of so many parameters on the host. All devices of a node update at the same
// time.
HostUpdate updateOnHost(double parameters, const CellPrecision &precision, const HostShare &host);

// Returns the seconds of a copy of `bytes` between a device and its host.
double hostCopySeconds(double bytes, const HostShare &host);
// Returns the seconds of host work with `bytes` of memory traffic.
double hostWorkSeconds(double bytes, const HostShare &host);

// Returns the bytes of a host's memory that training may use; the rest is for the system and for
// data.
double hostMemoryFor(const HostShare &host);

} // namespace dtc

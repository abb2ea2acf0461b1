// The communicator of a group of ranks, between hosts.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/device/Device.h"

namespace dtc::rt {

// Splits the communicator of this rank's list of `spec` off `world`, whose ranks all call this with
// the same `spec`: work of one group never waits for another. A group of one rank needs no world.
// Errors: `world` is null for a larger group.
Status makeGroupComm(Comm *world, int rank, const GroupSpec &spec, std::unique_ptr<Comm> &made);

} // namespace dtc::rt

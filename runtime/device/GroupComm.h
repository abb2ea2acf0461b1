// The communicator of hosts that a group of ranks has.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/device/Device.h"

namespace dtc::rt {

// Splits that of this rank's list of `spec` off `world`, whose ranks all call this alike: what waits in one group does not wait in
// another. A group of one rank needs no world. Errors: others where `world` is null.
Status makeGroupComm(Comm *world, int rank, const GroupSpec &spec, std::unique_ptr<Comm> &made);

} // namespace dtc::rt

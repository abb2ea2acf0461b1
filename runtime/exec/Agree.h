// Makes the error of one rank the error of all, so that no rank is left waiting for one that gave
// up.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Comm.h"

namespace dtc::rt {

// Collective over `world`, between steps: returns ok on all ranks when `mine` is ok on all, else on
// all ranks the error of the lowest rank that has one, "rank 2: ..." unless that is rank 0.
// Example: DTC_RETURN_IF_ERROR(agree(world, openData()));
Status agree(Comm &world, const Status &mine);

} // namespace dtc::rt

// Reductions of blocks of host memory, which the backends share.
#pragma once

#include "runtime/comm/Comm.h"

namespace dtc::rt {

// into[i] = into[i] + from[i], or the larger of both. Integers wrap, as they do in MPI. `type` is one
// that checkReducible takes; the blocks don't overlap.
void reduceInto(void *into, const void *from, size_t count, DataType type, Reduction op);

} // namespace dtc::rt

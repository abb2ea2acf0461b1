// Ranks that are threads of one process: for tests, and for a job of one rank.
#pragma once

#include "runtime/comm/Comm.h"

#include <vector>

namespace dtc::rt {

// The members of a new world of `size` ranks, in order of rank; each is to be used by a thread of
// its own. Reductions are summed in order of rank, so results do not depend on timing. A call that
// waits longer than `timeoutSeconds` for a peer ends in Aborted, as do all calls after it.
//
// Example: auto world = makeLoopbackWorld(2); float one = 1, sum;
//   std::thread peer([&] { float two = 2, s; (void)world[1]->allReduce(&two, &s, 1, F32, Sum); });
//   world[0]->allReduce(&one, &sum, 1, F32, Sum);  // sum == 3
std::vector<std::unique_ptr<Comm>> makeLoopbackWorld(int size, double timeoutSeconds = 600);

} // namespace dtc::rt

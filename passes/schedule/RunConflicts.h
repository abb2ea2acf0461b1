// Checks that accesses on several streams keep their order in all runs of all entries.
#pragma once

#include "passes/schedule/RunOrder.h"

namespace dtc {

// Simulates the runs of every entry with a vector clock for each stream, and checks each use of
// bytes that some stream other than 0 uses:
// 1. It follows all conflicting uses of these bytes, by streams, records and waits.
// 2. It reads data that its own micro-batch, or the step, has written.
//
// Checking one run of each task would not suffice, because of the additional streams and slots.
// Periods of equal micro-batches are followed until one leaves the same state as the one before it;
// the other periods of that stretch are then skipped, unless `followsAll` is set. The runs after
// the stretch are followed to the end.
//
// Fails after a diagnostic at the later of two uses. All offsets must be set.
llvm::LogicalResult checkRuns(exec::ProgramOp program, const RunOrder &order,
                              bool followsAll = false);

} // namespace dtc

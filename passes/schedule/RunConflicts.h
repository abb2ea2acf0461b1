// Whether what runs on several streams keeps its order in all runs of all entries.
#pragma once

#include "passes/schedule/RunOrder.h"

namespace dtc {

// Goes through the runs of every entry with a vector clock for each stream, and looks at each use of
// bytes that some stream other than 0 uses:
// 1. It comes after all others of these bytes that have to be over, by streams, records and waits.
// 2. What it reads is what its own micro-batch, or the step, has left there.
// Streams of their own and slots mean that neither follows from one run of each task.
//
// Micro-batches alike are followed until they leave what those before them left, and then skipped, unless `followsAll`.
//
// Fails after a diagnostic at the later of two uses. All offsets are set.
llvm::LogicalResult checkRuns(exec::ProgramOp program, const RunOrder &order,
                              bool followsAll = false);

} // namespace dtc

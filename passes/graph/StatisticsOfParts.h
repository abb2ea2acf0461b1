// Batch norm whose statistics are of parts of the batch.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Gives batch norms with `parts` statistics of the samples that one of `ranks` ranks of data
// parallelism has in a micro-batch. The batch is bound, and the ranks divide it.
void takeStatisticsOfParts(mlir::ModuleOp module, int64_t ranks);

} // namespace dtc

// Types of elements as dte.fbs calls them.
#pragma once

#include "runtime/format/dte_generated.h"

#include "mlir/IR/Types.h"

namespace dtc {

// Of any type of element that exec buffers have.
format::DType dtypeOf(mlir::Type type);

} // namespace dtc

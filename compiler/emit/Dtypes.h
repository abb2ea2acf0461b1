// Types of elements as dte.fbs calls them.
#pragma once

#include "runtime/format/dte_generated.h"

#include "mlir/IR/Types.h"

namespace dtc {

// Returns the type of a buffer's elements, for all element types of exec.
format::DType dtypeOf(mlir::Type type);

} // namespace dtc

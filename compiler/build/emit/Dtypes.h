// Types of elements as dte.fbs calls them.
#pragma once

#include "runtime/format/dte_generated.h"

#include "mlir/IR/Types.h"

namespace dtc {

// Returns the type of a buffer's elements: f32, bf16, f16, i32, i64 or i8. Any other type ends the
// process: no pass may make a buffer of it before the format has it.
format::DType dtypeOf(mlir::Type type);

} // namespace dtc

// Tensors that are columns of another one: rows with gaps, which attention reads and writes where they are, so that no slice
// and no concat of what one product makes or takes for all heads is copied.
#pragma once

#include "passes/schedule/ExecEmitter.h"

namespace dtc {

// Whether all that uses `slice`, rows of `columns` elements, is attention that takes them for tokens.
bool isReadInRows(mlir::Value slice, int64_t columns);

// Where the gradients of an attention's q, k and v are all that a concat puts side by side, and used by nothing else, they
// become columns of its result, which is defined here. Whether they have.
bool defineInRows(mlir::ValueRange gradients, ExecEmitter &emitter);

} // namespace dtc

// Tensors that are columns of another one: rows with gaps, which attention reads and writes in
// place. So the slices and concats around a matrix product that serves all heads need no copy.
#pragma once

#include "passes/schedule/ExecEmitter.h"

namespace dtc {

// True if all users of `slice`, rows of `columns` elements, are attention ops that read the rows as
// tokens.
bool isReadInRows(mlir::Value slice, int64_t columns);

// Makes the gradients of an attention's q, k and v columns of the result of a concat, which is
// defined here, if they are all inputs of the concat and have no other use. Returns true if it
// does.
bool defineInRows(mlir::ValueRange gradients, ExecEmitter &emitter);

} // namespace dtc

// The products from which a loss is computed.
#pragma once

#include "mlir/IR/Operation.h"

namespace dtc {

// Returns true if the loss is computed from the result of `product` without a further product,
// attention or normalisation, as from that of an output layer. Reads '@loss', or '@microbatch'
// where it was differentiated.
bool isOutputProduct(mlir::Operation &product);

} // namespace dtc

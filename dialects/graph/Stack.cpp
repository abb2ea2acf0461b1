// Implements stacks of tensors.
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace dtc::graph;

LogicalResult StackType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count,
                                RankedTensorType) {
  if (count < 1)
    return emitError() << "a stack has " << count << " entries, but 1 or more are wanted";
  return success();
}

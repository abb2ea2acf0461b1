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

RankedTensorType dtc::graph::tensorOf(Type type) {
  auto stack = dyn_cast<StackType>(type);
  return stack ? stack.getEntry() : cast<RankedTensorType>(type);
}

Type dtc::graph::withTensor(Type type, RankedTensorType tensor) {
  auto stack = dyn_cast<StackType>(type);
  return stack ? Type(StackType::get(type.getContext(), stack.getCount(), tensor)) : Type(tensor);
}

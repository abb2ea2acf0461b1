#include "passes/schedule/RowParts.h"

#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RecomputeOps.h"
#include "dialects/graph/ShapeOps.h"

using namespace mlir;

namespace dtc {
namespace {

// Returns the elements per token of [batch, tokens, heads, head_dim].
int64_t tokenElements(Value heads) {
  return numElements(cast<RankedTensorType>(heads.getType()).getShape().take_back(2));
}

bool isTokens(OpOperand &use, int64_t columns) {
  if (tokenElements(use.get()) != columns)
    return false;
  if (auto attention = dyn_cast<graph::AttentionOp>(use.getOwner()))
    return llvm::is_contained({attention.getQ(), attention.getK(), attention.getV()}, use.get());
  if (auto grad = dyn_cast<graph::AttentionGradOp>(use.getOwner()))
    return llvm::is_contained({grad.getQ(), grad.getK(), grad.getV()}, use.get()) &&
           !llvm::is_contained({grad.getOut(), grad.getDout()}, use.get());
  return false;
}

// Follows `tensor` past reshapes to its only user. Returns the value that it uses, and the user if
// that is a concat.
std::pair<Value, graph::ConcatOp> concatOf(Value tensor) {
  while (tensor.hasOneUse())
    if (auto reshape = dyn_cast<graph::ReshapeOp>(*tensor.user_begin()))
      tensor = reshape.getResult();
    else
      return {tensor, dyn_cast<graph::ConcatOp>(*tensor.user_begin())};
  return {};
}

} // namespace

bool isReadInRows(Value slice, int64_t columns) {
  return !slice.use_empty() && llvm::all_of(slice.getUses(), [&](OpOperand &use) {
    if (auto reshape = dyn_cast<graph::ReshapeOp>(use.getOwner()))
      return isReadInRows(reshape.getResult(), columns);
    if (auto again = dyn_cast<graph::AgainOp>(use.getOwner()))
      return isReadInRows(again.getResult(), columns);
    return isTokens(use, columns);
  });
}

bool defineInRows(ValueRange gradients, ExecEmitter &emitter) {
  graph::ConcatOp concat = concatOf(gradients.front()).second;
  if (!concat || concat.getInputs().size() != gradients.size())
    return false;
  llvm::DenseMap<Value, Value> inputs; // keyed by input of the concat: the gradient that it is
  for (Value gradient : gradients) {
    auto [input, of] = concatOf(gradient);
    if (of != concat || emitter.isKept(gradient) || emitter.isKept(input))
      return false; // a concat of another task has its own memory
    inputs[input] = gradient;
  }
  auto shape = cast<RankedTensorType>(concat.getType()).getShape();
  int64_t stride = numElements(shape.drop_front(concat.getDim())), first = 0;
  int64_t rows = numElements(shape) / stride;
  for (auto [input, gradient] : inputs)
    if (tokenElements(gradient) * rows != cast<RankedTensorType>(input.getType()).getNumElements())
      return false;
  Value whole = emitter.define(concat.getResult());
  for (Value input : concat.getInputs()) {
    Value gradient = inputs.lookup(input);
    int64_t columns = tokenElements(gradient);
    emitter.aliasRows(gradient, whole, first, columns, stride);
    first += columns;
  }
  return true;
}

} // namespace dtc

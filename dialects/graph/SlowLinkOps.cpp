// Checks and rules of ops about compressed gradients.
#include "dialects/graph/SlowLinkOps.h"

#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

LogicalResult AddendsOp::verify() {
  auto ranks = static_cast<int64_t>(getRanks());
  if (ranks < 2) // addends_c1
    return emitOpError() << "'ranks' is " << ranks << ", but 2 or more is wanted";
  RankedTensorType x = getX().getType(), result = getResult().getType();
  SmallVector<int64_t> shape{ranks};
  llvm::append_range(shape, x.getShape());
  if (result != x.clone(shape)) // addends_c2
    return emitOpError() << "result has type " << result << ", but " << x.clone(shape)
                         << " is wanted";
  return success();
}

// The loop of ranks is in the result alone. A split of it takes a partial sum (OpSplit).
OpRule AddendsOp::getRule() {
  RuleBuilder builder;
  TensorLoops ranks = builder.loops(getResult(), 0, 1);
  TensorLoops dims = builder.loops(getX());
  builder.operand(dims).result(ranks + dims);
  return builder.flops(0).kind(OpKind::View).zeroPreserving().take();
}

#define GET_OP_CLASSES
#include "dialects/graph/SlowLinkOps.cpp.inc"

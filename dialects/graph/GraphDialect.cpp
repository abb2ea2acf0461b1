// Registers the graph dialect: ops, attributes, inlining of blocks, constants.
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtc::graph;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"
#include "dialects/graph/GraphInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttributes.cpp.inc"

namespace {

// Blocks inline anywhere; what they draw at random stays keyed by the call's instance.
struct GraphInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *call, Operation *callable, bool wouldBeCloned) const final {
    // An outlined kernel is one unit of generated code.
    auto func = dyn_cast<FuncOp>(callable);
    return !func || !func.getKernel();
  }
  bool isLegalToInline(Region *dest, Region *source, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
  void handleTerminator(Operation *op, ValueRange results) const final {
    for (auto [result, value] : llvm::zip(results, op->getOperands()))
      result.replaceAllUsesWith(value);
  }
  void processInlinedCallBlocks(Operation *call,
                                iterator_range<Region::iterator> blocks) const final {
    auto graphCall = dyn_cast<CallOp>(call);
    if (!graphCall)
      return;
    for (Block &block : blocks)
      block.walk([&](RandomOpInterface op) { op.setInstance(graphCall.getInstance()); });
  }
};

} // namespace

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/StructureOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/NnOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/MoeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/ElementwiseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/ShapeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/GradientOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/OptimizerOps.cpp.inc"
      >();
  addInterfaces<GraphInliner>();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                             Location loc) {
  auto number = dyn_cast<FloatAttr>(value);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!number || !tensor || !tensor.hasStaticShape() || !isa<FloatType>(tensor.getElementType()))
    return nullptr;
  return ConstantOp::create(builder, loc, tensor,
                            builder.getF64FloatAttr(number.getValueAsDouble()));
}

PlanOnlyOpInterface dtc::graph::findPlanOnly(Operation *root) {
  PlanOnlyOpInterface found;
  root->walk([&](PlanOnlyOpInterface op) {
    if (op.whyPlanOnly().empty())
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

LogicalResult dtc::graph::checkCompilable(Operation *root) {
  PlanOnlyOpInterface op = findPlanOnly(root);
  return op ? op->emitOpError(op.whyPlanOnly()) : success();
}

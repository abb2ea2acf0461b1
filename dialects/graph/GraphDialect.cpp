// Registers the graph dialect: ops, types, attributes, constants.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/FamiliesApart.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtc::graph;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"
#include "dialects/graph/GraphInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/graph/GraphTypes.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/StructureOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/graph/GraphTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/BlockOps.cpp.inc"
      >();
#include "dialects/graph/RegisterFamiliesApart.inc"
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

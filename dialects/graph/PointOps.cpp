// The ops of the table of functions: checks, rules, gradient and bodies.
#include "dialects/graph/PointOps.h"

#include "dialects/graph/PointTable.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

#include <cmath>

using namespace mlir;
using namespace dtc::graph;

#include "dialects/graph/PointEnums.cpp.inc"

// Parses parameters, "[1.0, 20.0]"; a function without any has no brackets.
static ParseResult parseParameters(OpAsmParser &parser, DenseF64ArrayAttr &parameters) {
  if (failed(parser.parseOptionalLSquare())) {
    parameters = parser.getBuilder().getDenseF64ArrayAttr({});
    return success();
  }
  auto parsed =
      dyn_cast_or_null<DenseF64ArrayAttr>(DenseF64ArrayAttr::parseWithoutBraces(parser, Type()));
  if (!parsed)
    return failure();
  parameters = parsed;
  return parser.parseRSquare();
}

static void printParameters(OpAsmPrinter &printer, Operation *, DenseF64ArrayAttr parameters) {
  if (parameters.empty())
    return;
  printer << " [";
  llvm::interleaveComma(parameters.asArrayRef(), printer,
                        [&](double number) { printer.printFloat(APFloat(number)); });
  printer << ']';
}

#define GET_OP_CLASSES
#include "dialects/graph/PointOps.cpp.inc"

// Returns "beta, threshold".
static std::string namesOf(const PointRow &row) { return llvm::join(row.parameters, ", "); }

static LogicalResult verifyParameters(Operation *op, PointFunction function,
                                      ArrayRef<double> parameters) {
  const PointRow &row = pointRow(function);
  StringRef name = stringifyPointFunction(function);
  if (parameters.size() != row.parameters.size()) { // point_c1
    InFlightDiagnostic error = op->emitOpError()
                               << name << " has " << row.parameters.size() << " parameters";
    if (!row.parameters.empty())
      error << " (" << namesOf(row) << ")";
    return error << ", but " << parameters.size() << " are given";
  }
  for (auto [parameter, value] : llvm::zip(row.parameters, parameters)) {
    bool isBound = function == PointFunction::Clamp && std::isinf(value);
    if (!std::isfinite(value) && !isBound) // point_c2
      return op->emitOpError() << "'" << parameter << "' of " << name << " is " << numberText(value)
                               << ", but a finite number is wanted";
  }
  if (function == PointFunction::Softplus && parameters[0] == 0) // point_c3
    return op->emitOpError() << "'beta' of softplus is 0, by which it divides";
  return success();
}

LogicalResult PointOp::verify() { return verifyParameters(*this, getFunction(), getParameters()); }
LogicalResult PointGradOp::verify() {
  return verifyParameters(*this, getFunction(), getParameters());
}

OpRule PointOp::getRule() {
  const PointRow &row = pointRow(getFunction());
  return pointwiseRule(*this, row.flops, !row.isZeroAtZero || row.isZeroAtZero(getParameters()));
}

// A zero dy gives zero, unless the slope at 0 is infinite.
OpRule PointGradOp::getRule() {
  const PointRow &row = pointRow(getFunction());
  return pointwiseRule(*this, row.gradientFlops,
                       !row.isSmoothAtZero || row.isSmoothAtZero(getParameters()));
}

SmallVector<Value> PointOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                       ValueRange) {
  PointBuilder b(builder, loc);
  return {b.out(pointRow(getFunction()).body(b, b.in(operands[0]), getParameters()), getType())};
}

SmallVector<Value> PointGradOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                           ValueRange) {
  PointBuilder b(builder, loc);
  auto gradient = pointRow(getFunction()).gradient;
  Value dx =
      gradient ? gradient(b, b.in(operands[0]), b.in(operands[1]), getParameters()) : b.number(0);
  return {b.out(dx, getType())};
}

// Leaves out the gradient of functions that are constant between their jumps.
LogicalResult PointOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0] && pointRow(getFunction()).gradient)
    grads[0] = PointGradOp::create(builder, getLoc(), getType(), getX(), resultGrads[0],
                                   getFunction(), getParameters());
  return success();
}

// Comparisons, choices by a mask and counting: checks, rules, gradients and bodies.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Gradients.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/Points.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

static LogicalResult verifyBroadcastShape(Operation *op) {
  FailureOr<SmallVector<int64_t>> shape = broadcastShapes(op);
  if (failed(shape))
    return failure();
  DimList wanted;
  for (const auto &[dim, size] : llvm::enumerate(*shape))
    wanted.size(size, "dim " + Twine(dim) + " of the operands together");
  return wanted.check(op, "result", tensorType(op->getResult(0)));
}

LogicalResult CompareOp::verify() {
  if (failed(verifyBroadcastShape(*this))) // compare_c1, compare_c2
    return failure();
  if (failed(checkSameElement(*this, "rhs", getRhs().getType(), "lhs", getLhs().getType())))
    return failure(); // compare_c3
  Type element = getElementTypeOrSelf(getLhs());
  if (isa<FloatType>(element)) // compare_c3
    return checkSameElement(*this, "result", getType(), "lhs", getLhs().getType());
  return checkF32(*this, "result", getType()); // compare_c3
}

LogicalResult WhereOp::verify() {
  if (failed(verifyBroadcastShape(*this))) // where_c1, where_c2
    return failure();
  for (auto [name, side] : {std::pair<StringRef, Value>{"lhs", getLhs()}, {"rhs", getRhs()}})
    if (failed(checkSameElement(*this, name, side.getType(), "result", getType()))) // where_c3
      return failure();
  return success();
}

// Two zeros, which padding holds, are equal; of `ne`, `lt` and `gt` the result is 0 there, unless
// one side is repeated into padding.
OpRule CompareOp::getRule() {
  bool holds = llvm::is_contained({CompareKind::Eq, CompareKind::Le, CompareKind::Ge}, getKind());
  return fedBy(fedBy(pointwiseRule(*this, 1, !holds), 0), 1);
}

// Padding of the mask chooses rhs. Where the mask is repeated into padding, it may choose lhs.
OpRule WhereOp::getRule() {
  OpRule rule = fedBy(pointwiseRule(*this, 1, true), /*rhs=*/2);
  auto has = [&](unsigned operand, unsigned loop) {
    return llvm::any_of(rule.operands[operand],
                        [&](const DimLoops &dim) { return llvm::is_contained(dim, loop); });
  };
  for (unsigned loop = 0; loop < rule.loops.size(); ++loop)
    if (!has(0, loop) && !has(1, loop) && !llvm::is_contained(rule.fedLoops, loop))
      rule.fedLoops.push_back(loop);
  return rule;
}

static arith::CmpFPredicate ofFloats(CompareKind kind) {
  switch (kind) {
  case CompareKind::Eq:
    return arith::CmpFPredicate::OEQ;
  case CompareKind::Ne:
    return arith::CmpFPredicate::UNE;
  case CompareKind::Lt:
    return arith::CmpFPredicate::OLT;
  case CompareKind::Le:
    return arith::CmpFPredicate::OLE;
  case CompareKind::Gt:
    return arith::CmpFPredicate::OGT;
  case CompareKind::Ge:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("all kinds are handled");
}

static arith::CmpIPredicate ofIntegers(CompareKind kind) {
  switch (kind) {
  case CompareKind::Eq:
    return arith::CmpIPredicate::eq;
  case CompareKind::Ne:
    return arith::CmpIPredicate::ne;
  case CompareKind::Lt:
    return arith::CmpIPredicate::slt;
  case CompareKind::Le:
    return arith::CmpIPredicate::sle;
  case CompareKind::Gt:
    return arith::CmpIPredicate::sgt;
  case CompareKind::Ge:
    return arith::CmpIPredicate::sge;
  }
  llvm_unreachable("all kinds are handled");
}

SmallVector<Value> CompareOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                         ValueRange) {
  PointBuilder b(builder, loc);
  Value holds;
  if (isa<FloatType>(operands[0].getType()))
    holds = b.compare(ofFloats(getKind()), b.in(operands[0]), b.in(operands[1]));
  else
    holds = arith::CmpIOp::create(b.builder, ofIntegers(getKind()), operands[0], operands[1]);
  return {b.out(b.select(holds, b.number(1), b.number(0)), getType())};
}

SmallVector<Value> WhereOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                       ValueRange) {
  PointBuilder b(builder, loc);
  Type type = operands[0].getType();
  Value chosen;
  if (isa<FloatType>(type)) {
    chosen = b.compare(arith::CmpFPredicate::UNE, b.in(operands[0]), b.number(0));
  } else {
    Value zero = arith::ConstantOp::create(b.builder, builder.getZeroAttr(type));
    chosen = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, operands[0], zero);
  }
  return {b.select(chosen, operands[1], operands[2])};
}

// A comparison is constant between its jumps.
LogicalResult CompareOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>,
                                       SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  return success();
}

// y = m ? l : r: dl = m ? dy : 0, dr = m ? 0 : dy.
LogicalResult WhereOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(3, Value());
  if (!needed[1] && !needed[2])
    return success();
  Value dy = resultGrads[0];
  auto number = RankedTensorType::get({}, getType().getElementType());
  Value zero = ConstantOp::create(builder, getLoc(), number, builder.getF64FloatAttr(0));
  for (unsigned side : {1U, 2U}) {
    if (!needed[side])
      continue;
    Value taken = WhereOp::create(builder, getLoc(), getType(), getMask(), side == 1 ? dy : zero,
                                  side == 1 ? zero : dy);
    grads[side] = sumToOperand(builder, getLoc(), taken, getOperand(side));
  }
  return success();
}

LogicalResult IotaOp::verify() {
  if (failed(checkNumDims(*this, "result", getType(), 1))) // iota_c1
    return failure();
  if (getType().isDynamicDim(0)) // iota_c2
    return emitOpError() << "dim 0 of 'result' is dynamic, but numbers are counted at compile time";
  return checkWindows(*this, getWindows()); // iota_c3
}

OpRule IotaOp::getRule() {
  RuleBuilder builder;
  TensorLoops index = builder.loops(getResult());
  return builder.result(index).indexed(index).flops(0).take();
}

bool IotaOp::needsIndices() { return true; }

SmallVector<Value> IotaOp::buildPoint(OpBuilder &builder, Location loc, ValueRange,
                                      ValueRange indices) {
  PointBuilder b(builder, loc);
  Type element = getType().getElementType();
  bool isFloat = isa<FloatType>(element);
  Type integer = isFloat ? builder.getI32Type() : element;
  Value index = arith::IndexCastOp::create(b.builder, integer, indices[0]);
  if (ArrayAttr windows = getWindowsAttr()) {
    auto number = [&](int64_t value) {
      return arith::ConstantOp::create(b.builder, builder.getIntegerAttr(integer, value));
    };
    Value global = number(cast<WindowAttr>(windows[0]).getGlobal());
    Value isPart = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, index, global);
    index = b.select(isPart, index, number(0));
  }
  if (!isFloat)
    return {index};
  return {arith::SIToFPOp::create(b.builder, element, index).getResult()};
}

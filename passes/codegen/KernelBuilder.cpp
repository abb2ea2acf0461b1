// Emits the code that kernels other than pointwise ones share on processors and GPUs.
#include "passes/codegen/KernelBuilder.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/ShapeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dtc;

#include "passes/codegen/KernelOpInterface.cpp.inc"

namespace {

constexpr arith::FastMathFlags contract = arith::FastMathFlags::contract;

Type widened(Type type) {
  auto f32 = Float32Type::get(type.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), f32);
  return f32;
}

Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
}

} // namespace

Type KernelBuilder::elementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value KernelBuilder::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value KernelBuilder::sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
Value KernelBuilder::mul(Value a, int64_t b) {
  return arith::MulIOp::create(builder, loc, a, index(b));
}
Value KernelBuilder::min(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
Value KernelBuilder::div(Value a, int64_t b) {
  return arith::DivUIOp::create(builder, loc, a, index(b));
}
Value KernelBuilder::rem(Value a, int64_t b) {
  return arith::RemUIOp::create(builder, loc, a, index(b));
}

graph::WindowAttr KernelBuilder::findWindow(ArrayRef<graph::WindowAttr> windows, unsigned loop,
                                            int64_t size) {
  for (graph::WindowAttr window : windows)
    if (window.getLoop() == loop && (window.isSplit() || window.getGlobal() < size))
      return window;
  return nullptr;
}

WindowStarts KernelBuilder::startsOf(graph::WindowAttr window) {
  for (const WindowStarts &known : buffers.windows)
    if (known.window == window)
      return known;
  return {window, {index(0)}};
}

Value KernelBuilder::localOf(graph::WindowAttr window, Value global) {
  return localIndex(builder, loc, startsOf(window), global);
}

Value KernelBuilder::validSize(graph::WindowAttr window) {
  return validIndices(builder, loc, startsOf(window));
}

KernelBuilder::Values KernelBuilder::forLoop(Value begin, Value end, int64_t step,
                                             ValueRange carried, LoopBody body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, index(step), carried,
                                 [&](OpBuilder &nested, Location, Value at, ValueRange values) {
                                   OpBuilder::InsertionGuard guard(builder);
                                   builder.setInsertionPointToEnd(nested.getInsertionBlock());
                                   Values next = body(at, values);
                                   scf::YieldOp::create(builder, loc, next);
                                 });
  return Values(loop.getResults());
}

void KernelBuilder::forEach(Value begin, Value end, llvm::function_ref<void(Value)> body) {
  forLoop(begin, end, 1, {}, [&](Value at, ValueRange) {
    body(at);
    return Values();
  });
}

int64_t KernelBuilder::vectorWidth(int64_t size, int64_t most) {
  return std::min<int64_t>(most, llvm::PowerOf2Ceil(std::max<int64_t>(size, 1)));
}

int64_t KernelBuilder::columnUnits(int64_t rows, int64_t columns, int64_t width) {
  return rows * llvm::divideCeil(columns, vectorWidth(columns, width));
}

Value KernelBuilder::load(Value buffer, Value at, const Lanes &lanes) {
  Value vector = loadRaw(buffer, at, lanes);
  if (elementOf(buffer).isF32())
    return vector;
  return arith::ExtFOp::create(builder, loc, widened(vector.getType()), vector);
}

void KernelBuilder::store(Value vector, Value buffer, Value at, const Lanes &lanes) {
  if (!buffer)
    return;
  if (!elementOf(buffer).isF32())
    vector = arith::TruncFOp::create(builder, loc, withElement(vector.getType(), elementOf(buffer)),
                                     vector);
  storeRaw(vector, buffer, at, lanes);
}

Value KernelBuilder::loadScalar(Value buffer, Value at) {
  Value scalar = memref::LoadOp::create(builder, loc, buffer, at);
  if (scalar.getType().isF32())
    return scalar;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), scalar);
}

void KernelBuilder::storeScalar(Value scalar, Value buffer, Value at) {
  if (!buffer)
    return;
  if (!elementOf(buffer).isF32())
    scalar = arith::TruncFOp::create(builder, loc, elementOf(buffer), scalar);
  storeElement(scalar, buffer, at);
}

Value KernelBuilder::loadIndex(Value buffer, Value at) {
  Value scalar = memref::LoadOp::create(builder, loc, buffer, at);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), scalar);
}

Value KernelBuilder::constant(double value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
}
Value KernelBuilder::splat(Value scalar, int64_t width) {
  return vector::BroadcastOp::create(builder, loc, VectorType::get({width}, scalar.getType()),
                                     scalar);
}
Value KernelBuilder::addF(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b, contract);
}
Value KernelBuilder::subF(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b, contract);
}
Value KernelBuilder::mulF(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b, contract);
}
Value KernelBuilder::divF(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
Value KernelBuilder::maxF(Value a, Value b) {
  // Avoids maximumf, whose treatment of NaN and -0 costs a compare and a blend per vector.
  Value greater = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  return select(greater, a, b);
}
Value KernelBuilder::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, loc, a, b, c);
}
Value KernelBuilder::exp(Value a) { return math::ExpOp::create(builder, loc, a); }
Value KernelBuilder::log(Value a) { return math::LogOp::create(builder, loc, a); }
Value KernelBuilder::sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }

Value KernelBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value KernelBuilder::keep(Value a, double neutral, const Lanes &lanes) {
  return lanes.mask ? select(lanes.mask, a, splat(neutral, lanes.width)) : a;
}

Value KernelBuilder::keepBelow(Value a, double neutral, Value column, Value limit) {
  int64_t width = cast<VectorType>(a.getType()).getDimSize(0);
  Value left = arith::SubIOp::create(builder, loc, limit, column);
  // Relies on create_mask accepting any number: a negative one enables no lane, one above the width
  // enables all.
  Value mask = vector::CreateMaskOp::create(builder, loc,
                                            VectorType::get({width}, builder.getI1Type()), left);
  return select(mask, a, splat(neutral, width));
}

Value KernelBuilder::maxOfRow(Value buffer, Value base, int64_t columns) {
  constexpr double least = -std::numeric_limits<double>::infinity();
  Values maxima = forEachVector(columns, splat(least, laneCount(columns)),
                                [&](Value column, Lanes lanes, ValueRange now) -> Values {
                                  Value x =
                                      keep(load(buffer, add(base, column), lanes), least, lanes);
                                  return {maxF(x, now[0])};
                                });
  return max(maxima[0]);
}

KernelBuilder::SumOfExponentials KernelBuilder::sumExponentials(int64_t columns, LoadColumns load) {
  constexpr double least = -std::numeric_limits<double>::infinity();
  int64_t width = laneCount(columns);
  Values maxima = forEachVector(columns, splat(least, width),
                                [&](Value column, Lanes lanes, ValueRange now) -> Values {
                                  return {maxF(load(column, lanes), now[0])};
                                });
  Value largest = max(maxima[0]);
  Values sums = forEachVector(
      columns, splat(0, width), [&](Value column, Lanes lanes, ValueRange now) -> Values {
        Value e = exp(subF(load(column, lanes), splat(largest, lanes.width)));
        return {addF(now[0], keep(e, 0, lanes))};
      });
  return {largest, sum(sums[0])};
}

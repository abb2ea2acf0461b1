// Helpers of the scalar bodies of pointwise ops (PointwiseOpInterface).
#pragma once

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace dtc::graph {

// Builds scalar arithmetic in f32. `in` widens narrower elements; `out` rounds a result once.
// Multiplications and additions may contract to fused multiply-adds; infinities and NaN keep their
// meaning.
class PointBuilder {
public:
  PointBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(loc, builder), f32(builder.getF32Type()) {}

  mlir::Value in(mlir::Value element); // widens to f32
  mlir::Value out(mlir::Value value,
                  mlir::Type tensorType); // rounds from f32 to the tensor's element type
  // Returns an f32 constant.
  mlir::Value number(double value);

  // Returns a + b.
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<mlir::arith::AddFOp>(a, b); }
  // Returns a - b.
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<mlir::arith::SubFOp>(a, b); }
  // Returns a * b.
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<mlir::arith::MulFOp>(a, b); }
  // Returns a / b.
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<mlir::arith::DivFOp>(a, b); }
  // Returns the smaller value, NaN if one is NaN.
  mlir::Value min(mlir::Value a, mlir::Value b) { return binary<mlir::arith::MinimumFOp>(a, b); }
  // Returns the larger value, NaN if one is NaN.
  mlir::Value max(mlir::Value a, mlir::Value b) { return binary<mlir::arith::MaximumFOp>(a, b); }
  // Returns -x.
  mlir::Value neg(mlir::Value x) { return unary<mlir::arith::NegFOp>(x); }
  // Returns e^x.
  mlir::Value exp(mlir::Value x) { return unary<mlir::math::ExpOp>(x); }
  // Returns e^x - 1, accurate near 0.
  mlir::Value expm1(mlir::Value x) { return unary<mlir::math::ExpM1Op>(x); }
  // Returns the natural logarithm.
  mlir::Value log(mlir::Value x) { return unary<mlir::math::LogOp>(x); }
  // Returns the natural logarithm of 1 + x, accurate near 0.
  mlir::Value log1p(mlir::Value x) { return unary<mlir::math::Log1pOp>(x); }
  // Returns x to the power of `exponent`; x is 0 or more, or NaN.
  mlir::Value pow(mlir::Value x, mlir::Value exponent) {
    return binary<mlir::math::PowFOp>(x, exponent);
  }
  // Returns the magnitude.
  mlir::Value abs(mlir::Value x) { return unary<mlir::math::AbsFOp>(x); }
  // Returns the magnitude with the sign of another number.
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign) {
    return binary<mlir::math::CopySignOp>(magnitude, sign);
  }
  // Returns the next whole number below.
  mlir::Value floor(mlir::Value x) { return unary<mlir::math::FloorOp>(x); }
  // Returns the next whole number above.
  mlir::Value ceil(mlir::Value x) { return unary<mlir::math::CeilOp>(x); }
  // Returns the whole number towards 0.
  mlir::Value trunc(mlir::Value x) { return unary<mlir::math::TruncOp>(x); }
  // Returns the nearest whole number, the even one of two.
  mlir::Value round(mlir::Value x) { return unary<mlir::math::RoundEvenOp>(x); }
  // Returns the square root.
  mlir::Value sqrt(mlir::Value x) { return unary<mlir::math::SqrtOp>(x); }
  // Returns the hyperbolic tangent.
  mlir::Value tanh(mlir::Value x) { return unary<mlir::math::TanhOp>(x); }
  // Returns the error function.
  mlir::Value erf(mlir::Value x) { return unary<mlir::math::ErfOp>(x); }
  // Returns the cosine of x radians.
  mlir::Value cos(mlir::Value x) { return unary<mlir::math::CosOp>(x); }
  // Returns the sine of x radians.
  mlir::Value sin(mlir::Value x) { return unary<mlir::math::SinOp>(x); }
  mlir::Value sigmoid(mlir::Value x); // 1 / (1 + exp(-x))
  // Returns an i1: the result of the comparison.
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);
  // Returns `a` if the condition is true, else `b`.
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

  mlir::ImplicitLocOpBuilder builder;

private:
  template <typename OpTy> mlir::Value binary(mlir::Value a, mlir::Value b) {
    return OpTy::create(builder, a, b, mlir::arith::FastMathFlags::contract);
  }
  template <typename OpTy> mlir::Value unary(mlir::Value x) {
    return OpTy::create(builder, x, mlir::arith::FastMathFlags::contract);
  }

  mlir::Type f32;
};

} // namespace dtc::graph

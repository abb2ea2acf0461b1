// Arithmetic on the bits of f32 numbers, in the scalar body of a pointwise op.
#pragma once

#include "dialects/graph/Points.h"

namespace dtc::graph {

// Builds integer ops on the 32 bits of numbers, at the place of a PointBuilder.
class BitPoints {
public:
  explicit BitPoints(PointBuilder &b) : builder(b.builder), i32(builder.getI32Type()) {}

  // Returns a constant; bits above the lowest 32 are dropped.
  mlir::Value word(int64_t value) {
    return mlir::arith::ConstantOp::create(builder,
                                           builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  // Returns the bits of an f32.
  mlir::Value of(mlir::Value number) {
    return mlir::arith::BitcastOp::create(builder, i32, number);
  }
  // Returns the f32 that has the bits.
  mlir::Value number(mlir::Value bits) {
    return mlir::arith::BitcastOp::create(builder, builder.getF32Type(), bits);
  }
  // Returns a + c.
  mlir::Value add(mlir::Value a, mlir::Value c) {
    return mlir::arith::AddIOp::create(builder, a, c);
  }
  // Returns a - c.
  mlir::Value sub(mlir::Value a, mlir::Value c) {
    return mlir::arith::SubIOp::create(builder, a, c);
  }
  // Returns a & bits.
  mlir::Value mask(mlir::Value a, int64_t bits) {
    return mlir::arith::AndIOp::create(builder, a, word(bits));
  }
  // Returns a | c.
  mlir::Value join(mlir::Value a, mlir::Value c) {
    return mlir::arith::OrIOp::create(builder, a, c);
  }
  // Returns a << bits.
  mlir::Value left(mlir::Value a, int64_t bits) {
    return mlir::arith::ShLIOp::create(builder, a, word(bits));
  }
  // Returns a >> bits, with zeros from the left.
  mlir::Value right(mlir::Value a, int64_t bits) {
    return mlir::arith::ShRUIOp::create(builder, a, word(bits));
  }
  // Returns the larger of a and limit, signed.
  mlir::Value most(mlir::Value a, int64_t limit) {
    return mlir::arith::MaxSIOp::create(builder, a, word(limit));
  }
  // Returns the smaller of a and limit, signed.
  mlir::Value least(mlir::Value a, int64_t limit) {
    return mlir::arith::MinSIOp::create(builder, a, word(limit));
  }
  // Returns a < limit, signed.
  mlir::Value isBelow(mlir::Value a, int64_t limit) {
    return mlir::arith::CmpIOp::create(builder, mlir::arith::CmpIPredicate::slt, a, word(limit));
  }
  // Returns a where the condition holds, else c.
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value c) {
    return mlir::arith::SelectOp::create(builder, condition, a, c);
  }

protected:
  mlir::ImplicitLocOpBuilder &builder;
  mlir::Type i32;
};

} // namespace dtc::graph

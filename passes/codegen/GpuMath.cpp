// Emits sine, cosine and powers as arithmetic and exponentials as an instruction.
#include "passes/codegen/GpuMath.h"
#include "dialects/graph/ElementwiseOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace dtc;

namespace {

// Builds constants and arithmetic for one shape: scalars, or vectors of one width.
struct Shaped {
  Shaped(ImplicitLocOpBuilder &b, Type like) : b(b), like(like) {}

  ImplicitLocOpBuilder &b;
  Type like;

  Type of(Type element) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return vector.clone(element);
    return element;
  }
  Value constant(TypedAttr number) const {
    if (auto vector = dyn_cast<VectorType>(like))
      number = DenseElementsAttr::get(vector.clone(number.getType()), ArrayRef<Attribute>(number));
    return arith::ConstantOp::create(b, number);
  }
  Value f64(double number) const { return constant(b.getF64FloatAttr(number)); }
  Value f32(float number) const { return constant(b.getF32FloatAttr(number)); }
  Value i64(int64_t number) const { return constant(b.getI64IntegerAttr(number)); }
  // Returns a * x + c.
  Value fma(Value a, Value x, Value c) const { return math::FmaOp::create(b, a, x, c); }
  Value mul(Value a, Value x) const { return arith::MulFOp::create(b, a, x); }
  Value isSet(Value bits, int64_t bit) const {
    Value only = arith::AndIOp::create(b, bits, i64(bit));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, only, i64(0));
  }
};

// Emits sin(x), or cos(x) = sin(x + a quarter turn), with the polynomials of Cephes' sinf and cosf
// for angles up to an eighth of a turn.
Value buildSine(ImplicitLocOpBuilder &b, Value x, bool isCosine) {
  Shaped s(b, x.getType());
  Value wide = arith::ExtFOp::create(b, s.of(b.getF64Type()), x);
  // Rounds to whole quarter turns by adding 1.5 * 2^52; the lowest bits of the result then hold the
  // integer.
  Value shift = s.f64(0x1.8p52);
  Value shifted = s.fma(wide, s.f64(0x1.45f306dc9c883p-1), shift);
  Value turns = arith::SubFOp::create(b, shifted, shift);
  Value quarters = arith::BitcastOp::create(b, s.of(b.getI64Type()), shifted);
  if (isCosine)
    quarters = arith::AddIOp::create(b, quarters, s.i64(1));
  Value left = s.fma(turns, s.f64(-0x1.921fb54442d18p+0), wide);
  left = s.fma(turns, s.f64(-0x1.1a62633145c07p-54), left);
  Value r = arith::TruncFOp::create(b, x.getType(), left), r2 = s.mul(r, r);
  Value sine = s.fma(s.f32(-1.9515295891e-4F), r2, s.f32(8.3321608736e-3F));
  sine = s.fma(s.fma(sine, r2, s.f32(-1.6666654611e-1F)), s.mul(r2, r), r);
  Value cosine = s.fma(s.f32(2.443315711809948e-5F), r2, s.f32(-1.388731625493765e-3F));
  cosine = s.fma(cosine, r2, s.f32(4.166664568298827e-2F));
  cosine = s.fma(cosine, s.mul(r2, r2), s.fma(s.f32(-0.5F), r2, s.f32(1)));
  Value value = arith::SelectOp::create(b, s.isSet(quarters, 1), cosine, sine);
  Value negative = arith::NegFOp::create(b, value);
  return arith::SelectOp::create(b, s.isSet(quarters, 2), negative, value);
}

// Emits x^e for x of 0 or more, in f64: e log2(x) has to be exact to 1e-9 for a result of f32.
// log2(2^k m) = k + 2 atanh((m - 1) / (m + 1)) / ln(2) with m from sqrt(1/2) to sqrt(2).
Value buildPower(ImplicitLocOpBuilder &b, Value x, Value exponent) {
  Shaped s(b, x.getType());
  Type f64 = s.of(b.getF64Type()), i64 = s.of(b.getI64Type());
  Value e = arith::ExtFOp::create(b, f64, exponent);
  Value bits = arith::BitcastOp::create(b, i64, arith::ExtFOp::create(b, f64, x));
  constexpr int64_t fraction = (int64_t(1) << 52) - 1, one = int64_t(1023) << 52;
  Value m = arith::OrIOp::create(b, arith::AndIOp::create(b, bits, s.i64(fraction)), s.i64(one));
  m = arith::BitcastOp::create(b, f64, m);
  Value k = arith::SubIOp::create(b, arith::ShRUIOp::create(b, bits, s.i64(52)), s.i64(1023));
  k = arith::SIToFPOp::create(b, f64, k);
  auto select = [&](arith::CmpFPredicate predicate, Value a, Value limit, Value yes, Value no) {
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, predicate, a, limit), yes, no);
  };
  Value half = s.mul(m, s.f64(0.5)), root = s.f64(0x1.6a09e667f3bcdp+0);
  k = select(arith::CmpFPredicate::OGT, m, root, arith::AddFOp::create(b, k, s.f64(1)), k);
  m = select(arith::CmpFPredicate::OGT, m, root, half, m);
  Value q = arith::DivFOp::create(b, arith::SubFOp::create(b, m, s.f64(1)),
                                  arith::AddFOp::create(b, m, s.f64(1)));
  Value q2 = s.mul(q, q), series = s.f64(2.0 / 13);
  for (double odd : {11.0, 9.0, 7.0, 5.0, 3.0, 1.0})
    series = s.fma(series, q2, s.f64(2 / odd));
  Value log2 = s.fma(s.mul(series, q), s.f64(0x1.71547652b82fep+0), k);
  // 2^t = 2^n e^(r ln 2) with n whole and r from -1/2 to 1/2; beyond 2^200 f32 is infinite or 0.
  Value t = s.mul(e, log2);
  t = select(arith::CmpFPredicate::OLT, t, s.f64(-200), s.f64(-200), t);
  t = select(arith::CmpFPredicate::OGT, t, s.f64(200), s.f64(200), t);
  Value shift = s.f64(0x1.8p52), shifted = arith::AddFOp::create(b, t, shift);
  Value n = arith::SubFOp::create(b, shifted, shift);
  Value r = s.mul(arith::SubFOp::create(b, t, n), s.f64(0x1.62e42fefa39efp-1));
  Value power = s.f64(1.0 / 362880);
  for (double factorial : {40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
    power = s.fma(power, r, s.f64(1 / factorial));
  Value raised = arith::ShLIOp::create(b, arith::BitcastOp::create(b, i64, shifted), s.i64(52));
  raised = arith::AddIOp::create(b, arith::BitcastOp::create(b, i64, power), raised);
  Value y = arith::TruncFOp::create(b, x.getType(), arith::BitcastOp::create(b, f64, raised));
  Value zero = s.f32(0), infinity = s.f32(std::numeric_limits<float>::infinity());
  auto end = [&](Value below, Value above) {
    return select(arith::CmpFPredicate::OGT, exponent, zero, above, below);
  };
  y = select(arith::CmpFPredicate::OEQ, x, zero, end(infinity, zero), y);
  y = select(arith::CmpFPredicate::OEQ, x, infinity, end(zero, infinity), y);
  return select(arith::CmpFPredicate::UNO, x, x, x, y);
}

// Emits 2^x for a scalar.
Value buildExp2(ImplicitLocOpBuilder &b, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(),
                                       b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
      .getResult(0);
}

// Emits 2^t (1 + r ln 2) with t + r = x * log2(e): t is the rounded product, r is its rounding
// error plus the contribution of the low bits of log2(e). Clamps x to the range in which r is
// finite; e^x is 0 or infinite beyond it.
Value buildExp(ImplicitLocOpBuilder &b, Value x) {
  Shaped s(b, x.getType());
  x = arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, x, s.f32(-104)), s.f32(89));
  Value log2E = s.f32(0x1.715476p+0F);
  Value t = s.mul(x, log2E);
  Value r = s.fma(x, log2E, arith::NegFOp::create(b, t));
  Value factor = s.fma(s.fma(x, s.f32(0x1.4ae0cp-26F), r), s.f32(0x1.62e43p-1F), s.f32(1));
  auto vector = dyn_cast<VectorType>(x.getType());
  if (!vector)
    return s.mul(buildExp2(b, t), factor);
  Value powers = s.f32(0);
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
    powers = vector::InsertOp::create(b, buildExp2(b, vector::ExtractOp::create(b, t, lane)),
                                      powers, lane);
  return s.mul(powers, factor);
}

template <typename... Ops>
void replaceAll(Operation *root,
                llvm::function_ref<Value(ImplicitLocOpBuilder &, Operation *)> build) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<Ops...>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    op->getResult(0).replaceAllUsesWith(build(b, op));
    op->erase();
  }
}

} // namespace

void dtc::approximateExponentials(Operation *root) {
  replaceAll<math::ExpOp>(
      root, [](ImplicitLocOpBuilder &b, Operation *op) { return buildExp(b, op->getOperand(0)); });
}

void dtc::approximatePowers(Operation *root) {
  replaceAll<math::PowFOp>(root, [](ImplicitLocOpBuilder &b, Operation *op) {
    return buildPower(b, op->getOperand(0), op->getOperand(1));
  });
}

void dtc::approximateAngles(Operation *root) {
  replaceAll<math::SinOp, math::CosOp>(root, [](ImplicitLocOpBuilder &b, Operation *op) {
    return buildSine(b, op->getOperand(0), isa<math::CosOp>(op));
  });
}

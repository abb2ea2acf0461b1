// Decomposes the layers over rows, and their gradients, so that the row can be split over ranks:
// each sum or maximum over it is a separate result, which is finished before the next op reads it.
// The kernels of the whole ops (passes/codegen) compute the same formulas, so that both agree
// except for the order of additions.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

// Emits arithmetic in f32 over tensors [rows..., columns] and [rows...].
class Rows {
public:
  // `x` has the shape of the whole rows.
  Rows(OpBuilder &builder, Location loc, Value x)
      : builder(builder), loc(loc), whole(tensorType(x).getShape()) {}

  int64_t columns() const { return whole.back(); }

  // Sums and squares of narrow floats are computed in f32, as in kernels.
  Value wide(Value x) { return as(x, builder.getF32Type()); }
  Value narrow(Value x, Value like) { return as(x, tensorType(like).getElementType()); }

  template <typename OpTy> Value apply(Value a, Value b) {
    Value shape = tensorType(a).getRank() < tensorType(b).getRank() ? b : a;
    return OpTy::create(builder, loc, f32(broadcast(shape)), a, b);
  }
  Value add(Value a, Value b) { return apply<AddOp>(a, b); }
  Value subtract(Value a, Value b) { return apply<SubtractOp>(a, b); }
  Value multiply(Value a, Value b) { return apply<MultiplyOp>(a, b); }
  Value divide(Value a, Value b) { return apply<DivideOp>(a, b); }
  template <typename OpTy> Value apply(Value x) {
    return OpTy::create(builder, loc, x.getType(), x);
  }

  Value constant(double value) {
    return ConstantOp::create(builder, loc, f32({}), builder.getF64FloatAttr(value));
  }

  // Returns scale * sum over the row.
  Value sum(Value x, double scale = 1) { return reduce(x, ReduceKind::Sum, scale); }
  Value mean(Value x) { return sum(x, 1.0 / static_cast<double>(columns())); }
  Value max(Value x) { return reduce(x, ReduceKind::Max, 1); }
  // Returns the sum over the row of exp(x - max); padded columns do not count.
  Value sumExp(Value x, Value max) {
    return SumExpOp::create(builder, loc, f32(rows()), x, max, ArrayAttr());
  }

  // Returns [rows...] as [rows..., 1], which is the same in every column.
  Value column(Value x) {
    SmallVector<int64_t> shape(rows());
    shape.push_back(1);
    return ReshapeOp::create(builder, loc, f32(shape), x);
  }

  // Returns 1 / sqrt(x + epsilon).
  Value inverseRoot(Value x, const llvm::APFloat &epsilon) {
    Value shifted = add(x, constant(epsilon.convertToDouble()));
    return divide(constant(1), apply<SqrtOp>(shifted));
  }

private:
  Value as(Value x, Type element) {
    RankedTensorType type = tensorType(x);
    if (type.getElementType() == element)
      return x;
    return CastOp::create(builder, loc, RankedTensorType::get(type.getShape(), element), x);
  }
  ArrayRef<int64_t> rows() const { return whole.drop_back(); }
  RankedTensorType f32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  // Returns the shape of the larger operand; a column takes the shape of the whole rows.
  ArrayRef<int64_t> broadcast(Value x) const {
    ArrayRef<int64_t> shape = tensorType(x).getShape();
    return shape.size() == whole.size() ? whole : shape;
  }
  Value reduce(Value x, ReduceKind kind, double scale) {
    return ReduceOp::create(builder, loc, f32(rows()), x,
                            ReduceKindAttr::get(builder.getContext(), kind),
                            builder.getDenseI64ArrayAttr({static_cast<int64_t>(rows().size())}),
                            builder.getF64FloatAttr(scale), ArrayAttr());
  }

  OpBuilder &builder;
  Location loc;
  ArrayRef<int64_t> whole;
};

} // namespace

// Uses two stages instead of one with sum(x) and sum(x^2): for a large mean the difference of both
// has no accurate digits left.
SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  Rows r(builder, getLoc(), getX());
  Value mean = r.mean(getX());
  Value centred = r.subtract(r.wide(getX()), r.column(mean));
  Value rstd = r.inverseRoot(r.mean(r.multiply(centred, centred)), getEpsilon());
  Value normal = r.multiply(centred, r.column(rstd));
  Value y = r.add(r.multiply(normal, r.wide(getWeight())), r.wide(getBias()));
  return {r.narrow(y, getX()), mean, rstd};
}

SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder) {
  Rows r(builder, getLoc(), getX());
  Value x = r.wide(getX());
  Value rstd = r.inverseRoot(r.mean(r.multiply(x, x)), getEpsilon());
  Value y = r.multiply(r.multiply(x, r.column(rstd)), r.wide(getWeight()));
  return {r.narrow(y, getX()), rstd};
}

// Uses one stage: both means are of local values. With g = dy * weight and n = (x - mean) rstd, dx
// = rstd (g - mean(g) - n mean(g n)).
SmallVector<Value> LayerNormGradOp::decompose(OpBuilder &builder) {
  Rows r(builder, getLoc(), getX());
  Value rstd = r.column(getRstd());
  Value normal = r.multiply(r.subtract(r.wide(getX()), r.column(getMean())), rstd);
  Value g = r.multiply(r.wide(getDy()), r.wide(getWeight()));
  Value along = r.multiply(normal, r.column(r.mean(r.multiply(g, normal))));
  Value dx = r.multiply(r.subtract(r.subtract(g, r.column(r.mean(g))), along), rstd);
  return {r.narrow(dx, getX())};
}

// dx = rstd (g - n mean(g n)) with n = x rstd.
SmallVector<Value> RmsNormGradOp::decompose(OpBuilder &builder) {
  Rows r(builder, getLoc(), getX());
  Value rstd = r.column(getRstd());
  Value normal = r.multiply(r.wide(getX()), rstd);
  Value g = r.multiply(r.wide(getDy()), r.wide(getWeight()));
  Value along = r.multiply(normal, r.column(r.mean(r.multiply(g, normal))));
  return {r.narrow(r.multiply(r.subtract(g, along), rstd), getX())};
}

// y = exp(x - max) / sum(exp(x - max)): a maximum, then a sum.
SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  Rows r(builder, getLoc(), getX());
  Value max = r.max(getX());
  Value sum = r.sumExp(getX(), max);
  Value shifted = r.subtract(r.wide(getX()), r.column(max));
  return {r.narrow(r.divide(r.apply<ExpOp>(shifted), r.column(sum)), getX())};
}

// dx = (dy - sum(dy y)) y
SmallVector<Value> SoftmaxGradOp::decompose(OpBuilder &builder) {
  Rows r(builder, getLoc(), getY());
  Value y = r.wide(getY()), dy = r.wide(getDy());
  Value sum = r.sum(r.multiply(dy, y));
  return {r.narrow(r.multiply(r.subtract(dy, r.column(sum)), y), getY())};
}

// lse = log(sum(exp(x - max))) + max; loss = lse - x[target]. A rank without the target's entry
// picks 0, so the picked element is a sum over the ranks too.
SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  Rows r(builder, getLoc(), getLogits());
  Value max = r.max(getLogits());
  Value lse = r.add(r.apply<LogOp>(r.sumExp(getLogits(), max)), max);
  Value picked =
      PickOp::create(builder, getLoc(), lse.getType(), getLogits(), getTargets(), ArrayAttr());
  Value loss = r.subtract(lse, picked);
  if (getIgnoringAttr()) // ignored rows have no loss
    loss = r.multiply(
        loss, CountedOp::create(builder, getLoc(), lse.getType(), getTargets(), getIgnoringAttr()));
  return {loss, lse};
}

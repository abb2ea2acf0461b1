// Builds the exchange of compressed gradients.
//
// Source: Vogels, Karimireddy and Jaggi 2019, arXiv:1905.13727, algorithms 1 and 2, as
// torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.
#include "passes/graph/CompressGradients.h"

#include "dialects/graph/CompressionAttributes.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/OptimizerOps.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/SlowLinkOps.h"
#include "dialects/graph/StateOps.h"

using namespace mlir;

namespace dtc {
namespace {

// A column that has less than this share of its norm left beside the columns before it is rounding:
// it becomes zero.
constexpr double kLeastShare = 1e-4;
// Magnitudes below are taken for zero, so that no inverse overflows.
constexpr double kLeastMagnitude = 1e-30;

// Emits arithmetic in f32.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
  RankedTensorType f32(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  Value constant(double value) const {
    return graph::ConstantOp::create(builder, loc, f32({}), builder.getF64FloatAttr(value));
  }
  // The result has the shape of the operand with more elements.
  template <typename OpTy> Value apply(Value a, Value b) const {
    Value shape = typeOf(a).getNumElements() < typeOf(b).getNumElements() ? b : a;
    return OpTy::create(builder, loc, shape.getType(), a, b);
  }
  Value add(Value a, Value b) const { return apply<graph::AddOp>(a, b); }
  Value subtract(Value a, Value b) const { return apply<graph::SubtractOp>(a, b); }
  Value multiply(Value a, Value b) const { return apply<graph::MultiplyOp>(a, b); }
  Value scale(Value x, double factor) const {
    return graph::ScaleOp::create(builder, loc, x, builder.getF64FloatAttr(factor));
  }
  Value reshape(Value x, ArrayRef<int64_t> shape) const {
    RankedTensorType type = typeOf(x).clone(shape);
    return type == x.getType() ? x : graph::ReshapeOp::create(builder, loc, type, x).getResult();
  }
  Value reduce(Value x, graph::ReduceKind kind, ArrayRef<int64_t> dims) const {
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(typeOf(x).getShape()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
        shape.push_back(size);
    return graph::ReduceOp::create(builder, loc, f32(shape), x, kind, dims);
  }
  Value squares(Value x, ArrayRef<int64_t> dims) const {
    return reduce(multiply(x, x), graph::ReduceKind::Sum, dims);
  }
  Value largest(Value x, ArrayRef<int64_t> dims) const {
    Value magnitudes = graph::PointOp::create(
        builder, loc, x.getType(), x, graph::PointFunction::Abs, builder.getDenseF64ArrayAttr({}));
    return reduce(magnitudes, graph::ReduceKind::Max, dims);
  }
  Value isAbove(Value a, Value b) const {
    return graph::CompareOp::create(builder, loc, a.getType(), a, b, graph::CompareKind::Gt);
  }
  // Returns `lhs` where the mask is 1, in the shape of the operand with the most elements.
  Value where(Value mask, Value lhs, Value rhs) const {
    Value shape = typeOf(lhs).getNumElements() < typeOf(rhs).getNumElements() ? rhs : lhs;
    return graph::WhereOp::create(builder, loc, shape.getType(), mask, lhs, rhs);
  }
  // Returns 1 / x where the mask is 1, else 0.
  Value inverse(Value x, Value mask) const {
    Value inverse = graph::DivideOp::create(builder, loc, x.getType(), constant(1), x);
    return graph::WhereOp::create(builder, loc, x.getType(), mask, inverse, constant(0));
  }
  Value columnsOf(Value x, int64_t start, int64_t count) const {
    return graph::SliceOp::create(builder, loc, f32({typeOf(x).getDimSize(0), count}), x,
                                  builder.getI64IntegerAttr(1), builder.getI64IntegerAttr(start),
                                  builder.getI64IntegerAttr(count), UnitAttr());
  }
  Value joined(ArrayRef<Value> parts, int64_t dim, ArrayRef<int64_t> shape) const {
    return graph::ConcatOp::create(builder, loc, f32(shape), parts, builder.getI64IntegerAttr(dim),
                                   UnitAttr());
  }
  // Marks a sum over ranks as one that they exchange as a gradient, and finishes it.
  Value exchanged(Value sum) const {
    sum.getDefiningOp()->setAttr(graph::kExchangedAttr, builder.getUnitAttr());
    return graph::FinishOp::create(builder, loc, sum.getType(), sum);
  }

  OpBuilder &builder;
  Location loc;
};

// Columns that are orthogonal and have norm 1, or are zero.
struct Orthogonal {
  Value columns; // [rows, rank]
  Value kept;    // [rank]: 1 for columns that are not zero
};

// Takes the directions of the columns one after another, and each out of those behind it (modified
// Gram-Schmidt). What has no direction of its own becomes zero, never NaN.
Orthogonal orthogonalised(const Emitter &e, Value x) {
  int64_t rows = Emitter::typeOf(x).getDimSize(0), rank = Emitter::typeOf(x).getDimSize(1);
  Value most = e.largest(x, {0, 1});
  x = e.multiply(x, e.inverse(most, e.isAbove(most, e.constant(kLeastMagnitude))));
  Value rest = x,
        before = e.reshape(e.scale(e.squares(x, {0}), kLeastShare * kLeastShare), {1, rank});
  SmallVector<Value> columns, kept;
  for (int64_t column = 0; column < rank; ++column) {
    int64_t behind = rank - column - 1;
    Value now = e.columnsOf(rest, 0, 1);
    Value square = e.reshape(e.squares(now, {0}), {1, 1});
    Value isKept = e.isAbove(square, e.columnsOf(before, column, 1));
    Value root = graph::SqrtOp::create(e.builder, e.loc, square.getType(), square);
    Value direction = e.multiply(now, e.inverse(root, isKept));
    columns.push_back(direction);
    kept.push_back(isKept);
    if (behind == 0)
      break;
    rest = e.columnsOf(rest, 1, behind);
    Value shares =
        graph::MatmulOp::create(e.builder, e.loc, e.f32({1, behind}), direction, rest, true, false);
    Value along = graph::MultiplyOp::create(e.builder, e.loc, rest.getType(), direction, shares);
    rest = e.subtract(rest, along);
  }
  if (rank == 1)
    return {columns[0], e.reshape(kept[0], {1})};
  return {e.joined(columns, 1, {rows, rank}), e.reshape(e.joined(kept, 1, {1, rank}), {rank})};
}

} // namespace

bool GradientExchange::isCompressed() const {
  return gradient.getRank() > 1 && compresses(method, rows(), columns());
}

int64_t GradientExchange::rows() const {
  int64_t before = 1, best = gradient.getDimSize(0), all = gradient.getNumElements();
  for (int64_t size : gradient.getShape().drop_back()) {
    before *= size;
    if (before + all / before < best + all / best)
      best = before;
  }
  return best;
}

int64_t GradientExchange::mostRank() const {
  return gradient.getRank() > 1 ? (rows() * columns() - 1) / (rows() + columns()) : 0;
}

SmallVector<CompressionState> GradientExchange::states() const {
  SmallVector<int64_t> shape{ranks};
  llvm::append_range(shape, gradient.getShape());
  return {{"compress_error", gradient.clone(shape), /*isByRank=*/true},
          {"compress_q", gradient.clone(ArrayRef<int64_t>{columns(), method.amount}),
           /*isByRank=*/false, /*isRandom=*/true}};
}

// Returns what each rank wants to send: its addend, and what it has not sent before.
static Value wanted(const Emitter &e, RankedTensorType gradient, int64_t ranks, Value of,
                    Value error) {
  SmallVector<int64_t> shape{ranks};
  llvm::append_range(shape, gradient.getShape());
  Value addends = graph::AddendsOp::create(e.builder, e.loc, gradient.clone(shape), of,
                                           static_cast<uint64_t>(ranks));
  return e.add(addends, error);
}

GradientExchange::Made GradientExchange::exchange(OpBuilder &builder, Location loc, Value of,
                                                  ValueRange states) const {
  Emitter e(builder, loc);
  int64_t rank = method.amount;
  Value matrix = e.reshape(wanted(e, gradient, ranks, of, states[0]), {ranks, rows(), columns()});
  Value before = states[1];
  Value own = graph::LinearOp::create(builder, loc, e.f32({ranks, rows(), rank}), matrix, before);
  auto [p, kept] = orthogonalised(e, e.exchanged(e.reduce(own, graph::ReduceKind::Sum, {0})));
  // The mask spreads P over the ranks, each of which multiplies by its own matrix. What it gives in
  // place of columns that are zero is not read.
  Value ofEach = e.where(kept, p, own);
  Value q = e.exchanged(
      graph::LinearWeightGradOp::create(builder, loc, e.f32({columns(), rank}), matrix, ofEach));
  Value sum = graph::MatmulOp::create(builder, loc, e.f32({rows(), columns()}), p, q, false, true);
  sum.getDefiningOp()->setAttr(graph::kDecompressedAttr, builder.getUnitAttr());
  // Keeps directions only, so that gradients of any size give a P that is not too small. A column
  // that has none keeps that of the step before: a zero would stay zero for good.
  Value most = e.largest(q, {0});
  Value has = e.multiply(kept, e.isAbove(most, e.constant(kLeastMagnitude)));
  Value next = e.where(has, e.multiply(q, e.inverse(most, has)), before);
  return {e.reshape(sum, gradient.getShape()), {next}};
}

Value GradientExchange::error(OpBuilder &builder, Location loc, Value of, Value sum,
                              Value errorBefore) const {
  Emitter e(builder, loc);
  return e.subtract(wanted(e, gradient, ranks, of, errorBefore),
                    e.scale(sum, 1 / static_cast<double>(ranks)));
}

} // namespace dtc

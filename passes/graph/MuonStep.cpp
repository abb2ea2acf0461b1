// Builds the update of one hidden matrix by Muon.
#include "passes/graph/MuonStep.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/LayerwiseOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/OptimizerKind.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/ShapeOps.h"

#include <cmath>

using namespace mlir;

namespace dtc {
namespace {

// The steps of the Newton-Schulz iteration.
constexpr int64_t kSteps = 5;
// x' = a x + (b A + c A A) x with A = x x^T: these make all singular values near 1 in few steps.
// Source: Jordan et al. 2024, as torch.optim.Muon.
constexpr double kLinear = 3.4445, kCubic = -4.7750, kQuintic = 2.0315;
// The least norm that a matrix is divided by.
constexpr double kLeastNorm = 1e-7;

// Builds the ops of one update.
class MuonBuilder {
public:
  MuonBuilder(OpBuilder &builder, Location loc, const HiddenMatrix &matrix, RankedTensorType type,
              Type products)
      : builder(builder), loc(loc), matrix(matrix), type(type), products(products) {}

  Value add(Value a, Value b) { return graph::AddOp::create(builder, loc, a.getType(), a, b); }
  Value scale(Value x, double factor) {
    return graph::ScaleOp::create(builder, loc, x, builder.getF64FloatAttr(factor));
  }
  Value constant(double value) {
    return graph::ConstantOp::create(builder, loc, RankedTensorType::get({}, builder.getF32Type()),
                                     builder.getF64FloatAttr(value));
  }
  // Returns share * a + (1 - share) * b.
  Value between(Value a, Value b, double share) {
    return add(scale(a, share), scale(b, 1 - share));
  }

  // Returns the matrices with all their singular values near 1, in the type of products and the
  // shape of `update`.
  Value orthogonal(Value update) {
    Value whole = graph::WholeMatrixOp::create(builder, loc, narrow(type), cast(update, products),
                                               static_cast<uint64_t>(matrix.batch));
    ArrayRef<int64_t> shape = type.getShape();
    SmallVector<int64_t> dims(shape.take_front(static_cast<size_t>(matrix.batch)));
    dims.append({matrix.rows(shape), matrix.columns(shape)});
    isTall = matrix.rows(shape) > matrix.columns(shape);
    Value x = normalised(graph::ReshapeOp::create(builder, loc, type.clone(dims, products), whole));
    for (int64_t step = 0; step < kSteps; ++step)
      x = nearer(x);
    return graph::ReshapeOp::create(builder, loc, narrow(type), x);
  }

  Value cast(Value x, Type element) {
    RankedTensorType from = typeOf(x);
    if (from.getElementType() == element)
      return x;
    return graph::CastOp::create(builder, loc, from.clone(element), x);
  }
  Type f32() { return builder.getF32Type(); }

private:
  RankedTensorType narrow(RankedTensorType of) { return of.clone(products); }
  static RankedTensorType typeOf(Value value) {
    return mlir::cast<RankedTensorType>(value.getType());
  }

  // Divides each matrix by its norm, so that no singular value is above 1. The norm is rounded to
  // the type of products, as that of PyTorch is.
  Value normalised(Value x) {
    RankedTensorType shape = typeOf(x), wide = shape.clone(f32());
    Value inF32 = cast(x, f32());
    Value squares = graph::MultiplyOp::create(builder, loc, wide, inF32, inF32);
    int64_t rank = shape.getRank();
    auto counts = RankedTensorType::get(shape.getShape().drop_back(2), f32());
    Value sums = graph::ReduceOp::create(builder, loc, counts, squares, graph::ReduceKind::Sum,
                                         ArrayRef<int64_t>{rank - 2, rank - 1});
    Value norm = cast(cast(graph::SqrtOp::create(builder, loc, counts, sums), products), f32());
    norm = graph::MaximumOp::create(builder, loc, counts, norm, constant(kLeastNorm));
    if (rank > 2) { // one for each matrix
      SmallVector<int64_t> dims(counts.getShape());
      dims.append({1, 1});
      norm = graph::ReshapeOp::create(builder, loc, RankedTensorType::get(dims, f32()), norm);
    }
    return cast(graph::DivideOp::create(builder, loc, wide, inF32, norm), products);
  }

  // Returns the product of matrices, in the type `element`.
  Value multiply(Value a, bool transposeA, Value b, bool transposeB, Type element) {
    SmallVector<int64_t> dims(typeOf(a).getShape());
    size_t rank = dims.size();
    dims[rank - 2] = typeOf(a).getDimSize(static_cast<unsigned>(rank - (transposeA ? 1 : 2)));
    dims[rank - 1] = typeOf(b).getDimSize(static_cast<unsigned>(rank - (transposeB ? 2 : 1)));
    return graph::MatmulOp::create(builder, loc, RankedTensorType::get(dims, element), a, b,
                                   transposeA, transposeB);
  }

  // Takes one step; the square matrix is that of the shorter side.
  Value nearer(Value x) {
    Value gram = multiply(x, isTall, x, !isTall, products);
    Value inF32 = cast(gram, f32());
    Value polynomial =
        cast(add(scale(inF32, kCubic), scale(multiply(gram, false, gram, false, f32()), kQuintic)),
             products);
    Value moved = isTall ? multiply(x, false, polynomial, false, f32())
                         : multiply(polynomial, false, x, false, f32());
    return cast(add(scale(cast(x, f32()), kLinear), moved), products);
  }

  OpBuilder &builder;
  Location loc;
  const HiddenMatrix &matrix;
  RankedTensorType type; // of the parameter, in f32
  Type products;         // f32 or bf16
  bool isTall = false;   // has more rows than columns
};

double factorOf(MatrixRate rate, const HiddenMatrix &matrix, ArrayRef<int64_t> shape) {
  auto rows = static_cast<double>(matrix.rows(shape)),
       columns = static_cast<double>(matrix.columns(shape));
  switch (rate) {
  case MatrixRate::MatchRmsAdamW:
    return 0.2 * std::sqrt(std::max(rows, columns));
  case MatrixRate::Original:
    return std::sqrt(std::max(1.0, matrix.rowsAreOutputs ? rows / columns : columns / rows));
  }
  llvm_unreachable("all factors are there");
}

} // namespace

SmallVector<Value> buildMuonStep(OpBuilder &builder, Location loc, Value param, Value grad,
                                 Value momentum, const StepScalars &scalars,
                                 const AddOptimizerOptions &options, bool decays,
                                 const HiddenMatrix &matrix, Type products) {
  auto type = cast<RankedTensorType>(param.getType());
  MuonBuilder b(builder, loc, matrix, type, products);
  Value clipped = graph::MultiplyOp::create(builder, loc, type, grad, scalars.clip);
  Value next = b.between(momentum, clipped, options.muonMomentum);
  Value update = b.orthogonal(b.between(next, clipped, options.muonMomentum));
  double factor = factorOf(*matrixRateFrom(options.muonRate), matrix, type.getShape());
  Value direction = b.cast(update, b.f32());
  if (decays && options.weightDecay > 0) // at the learning rate itself, which `factor` is beside
    direction = b.add(b.scale(param, options.weightDecay / factor), direction);
  Value moved = graph::DescendOp::create(builder, loc, type, param, direction, scalars.rate,
                                         b.constant(factor), scalars.apply);
  Value kept = graph::WhereOp::create(builder, loc, type, scalars.apply, next, momentum);
  return {moved, kept};
}

// Returns the flops of the products of all steps: of X with its transpose, of that with itself, and
// of both with X.
double flopsOfOrthogonal(const HiddenMatrix &matrix, ArrayRef<int64_t> shape) {
  auto rows = static_cast<double>(matrix.rows(shape)),
       columns = static_cast<double>(matrix.columns(shape));
  double least = std::min(rows, columns), most = std::max(rows, columns);
  return static_cast<double>(kSteps * matrix.matrices(shape)) *
         (4 * least * least * most + 2 * least * least * least);
}

} // namespace dtc

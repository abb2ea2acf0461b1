// Kernels of reduce over any dims, of sum_squares and of amax.
#include "dialects/graph/EightBitOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/OptimizerOps.h"
#include "dialects/graph/ShapeOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/KernelModels.h"
#include "passes/codegen/RowShape.h"
#include "passes/codegen/SumParts.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

constexpr double minusInfinity = -std::numeric_limits<double>::infinity();

// A dim of x, or several neighbouring dims that are all reduced or all kept.
struct ReduceDim {
  int64_t size;
  bool isReduced;
  WindowAttr window; // set for a reduced dim with padding
};

// Returns the dims of x, outermost first; neighbours are merged unless one has a window.
SmallVector<ReduceDim> mergedDims(ReduceOp op) {
  SmallVector<ReduceDim> dims;
  for (auto [i, size] : llvm::enumerate(cast<RankedTensorType>(op.getX().getType()).getShape())) {
    ReduceDim dim{size, llvm::is_contained(op.getDims(), static_cast<int64_t>(i)), nullptr};
    if (dim.isReduced && op.getKind() == ReduceKind::Max)
      dim.window = KernelBuilder::findWindow(getWindows(op), i, size);
    if (size == 1 && !dim.window)
      continue;
    if (!dims.empty() && dims.back().isReduced == dim.isReduced && !dim.window &&
        !dims.back().window)
      dims.back().size *= size;
    else
      dims.push_back(dim);
  }
  if (dims.empty())
    dims.push_back({1, true, nullptr});
  return dims;
}

// Returns the dims of x for largest magnitudes: those that are kept, and two that are reduced, so
// that threads share out even the elements of a single result.
SmallVector<ReduceDim> chunkedDims(AmaxOp op) {
  constexpr int64_t chunk = 4096;
  auto x = cast<RankedTensorType>(op.getX().getType());
  int64_t rows = op.getType().getNumElements(), size = 1;
  for (int64_t dim : x.getShape().drop_front(static_cast<size_t>(op.getType().getRank())))
    size *= dim;
  bool isReduced = x.getRank() > op.getType().getRank();
  int64_t columns = size % chunk == 0 ? std::min(size, chunk) : isReduced ? x.getShape().back() : 1;
  if (columns == 0)
    return {{rows, false, nullptr}, {0, true, nullptr}};
  return {{rows, false, nullptr}, {size / columns, true, nullptr}, {columns, true, nullptr}};
}

// A reduction in which the innermost dim is a row of vectors. If that dim is reduced, its lanes are
// added up at the end; otherwise each lane is a separate column. The lanes are several sums side by
// side, so the error grows with the row's length divided by their number. One unit computes each
// result, so the order of additions does not depend on threads.
class Reduction {
public:
  explicit Reduction(ReduceOp op)
      : Reduction(mergedDims(op), op.getKind() == ReduceKind::Max, minusInfinity) {
    factor = op.getScale().convertToDouble();
    if (op.getKind() == ReduceKind::Mean)
      factor /= inner * (reducesColumns ? columns : 1);
  }
  explicit Reduction(AmaxOp op) : Reduction(chunkedDims(op), /*isMax=*/true, /*least=*/0) {
    isOfMagnitudes = true;
  }

  int64_t range() const {
    return reducesColumns ? units().range()
                          : KernelBuilder::columnUnits(rows, columns, blockColumns);
  }

  KernelUnit unit() const {
    if (reducesColumns)
      return units().unit(/*combines=*/true);
    int64_t width = std::min(columns, KernelBuilder::vectorWidth(columns, blockColumns));
    return {std::max<int64_t>(1, inner * width), /*combines=*/inner > 1};
  }

  void emit(KernelBuilder &k) const {
    if (reducesColumns) {
      k.forEachRow(units(), {inner, columns}, [&](Value row) { emitRow(k, row); });
      return;
    }
    k.forEachColumnUnit(
        {rows, columns, blockColumns, inner}, [&](Value row, Value column, Lanes lanes) {
          Values total = reduceOuter(k, 0, rowBase(k, row), neutral(k, lanes.width),
                                     [&](Value base, ValueRange now) -> Values {
                                       Value x = k.load(k.operand(0), k.add(base, column), lanes);
                                       return {combine(k, now[0], x)};
                                     });
          Value at = k.add(k.mul(row, columns), column);
          k.store(scaled(k, total[0], lanes.width), k.result(0), at, lanes);
        });
  }

private:
  static constexpr int64_t blockColumns = rowSumColumns;

  Reduction(SmallVector<ReduceDim> reduced, bool isMax, double least)
      : dims(std::move(reduced)), isMax(isMax), leastOfMax(least) {
    for (const ReduceDim &dim : ArrayRef(dims).drop_back())
      (dim.isReduced ? inner : rows) *= dim.size;
    columns = dims.back().size;
    reducesColumns = dims.back().isReduced;
  }

  RowShape units() const { return {rows, inner * columns}; }

  void emitRow(KernelBuilder &k, Value row) const {
    int64_t width = k.laneCount(columns);
    double none = isMax ? leastOfMax : 0;
    WindowAttr window = dims.back().window;
    Value limit = window ? k.validSize(window) : Value();
    auto addRow = [&](Value base, ValueRange carried) {
      return k.forEachVector(
          columns, carried, [&](Value column, Lanes lanes, ValueRange now) -> Values {
            Value x = k.keep(k.load(k.operand(0), k.add(base, column), lanes), none, lanes);
            if (window)
              x = k.keepBelow(x, none, column, limit);
            if (isOfMagnitudes)
              x = math::AbsFOp::create(k.builder, k.loc, x);
            return {combine(k, now[0], x)};
          });
    };
    Values lanes = reduceOuter(k, 0, rowBase(k, row), neutral(k, width), addRow);
    Value total = isMax ? k.max(lanes[0]) : k.sum(lanes[0]);
    k.storeScalar(scaled(k, total, 0), k.result(0), row);
  }

  // Loops over the reduced dims except the innermost, from dim `at` on.
  Values reduceOuter(KernelBuilder &k, unsigned at, Value base, ValueRange carried,
                     llvm::function_ref<Values(Value base, ValueRange carried)> body) const {
    while (at + 1 < dims.size() && !dims[at].isReduced)
      ++at;
    if (at + 1 >= dims.size())
      return body(base, carried);
    Value end = k.index(dims[at].size);
    if (dims[at].window)
      end = k.min(end, k.validSize(dims[at].window));
    auto addPart = [&](Value i, ValueRange now) {
      return reduceOuter(k, at + 1, k.add(base, k.mul(i, stride(at))), now, body);
    };
    // Distributes the parts of the slowest dim over threads.
    if (llvm::none_of(ArrayRef(dims).take_front(at), [](auto &dim) { return dim.isReduced; }))
      return k.combineParts(end,
                            isMax ? KernelBuilder::Combining::Max : KernelBuilder::Combining::Sum,
                            carried, /*atOnce=*/1, addPart);
    return k.forLoop(k.index(0), end, 1, carried, addPart);
  }

  int64_t stride(unsigned at) const {
    int64_t elements = 1;
    for (const ReduceDim &dim : ArrayRef(dims).drop_front(at + 1))
      elements *= dim.size;
    return elements;
  }

  // Returns the first element of a result row: its number is split into indices of the kept dims.
  Value rowBase(KernelBuilder &k, Value row) const {
    Value base = k.index(0);
    int64_t faster = rows;
    for (unsigned at = 0; at + 1 < dims.size(); ++at) {
      if (dims[at].isReduced)
        continue;
      faster /= dims[at].size;
      Value index = k.rem(k.div(row, faster), dims[at].size);
      base = k.add(base, k.mul(index, stride(at)));
    }
    return base;
  }

  Value neutral(KernelBuilder &k, int64_t width) const {
    return k.splat(isMax ? leastOfMax : 0, width);
  }
  Value combine(KernelBuilder &k, Value total, Value x) const {
    return isMax ? k.maxF(total, x) : k.addF(total, x);
  }
  // Multiplies by the factor; `width` 0 means a scalar.
  Value scaled(KernelBuilder &k, Value value, int64_t width) const {
    if (factor == 1)
      return value;
    return k.mulF(value, width ? k.splat(factor, width) : k.constant(factor));
  }

  SmallVector<ReduceDim> dims;
  bool isMax, reducesColumns = false, isOfMagnitudes = false;
  double leastOfMax;
  double factor = 1;   // `scale`; divided by the count for a mean
  int64_t rows = 1;    // results, or rows of results
  int64_t inner = 1;   // elements per result, not counting a reduced innermost dim
  int64_t columns = 1; // size of the innermost dim
};

struct ReduceKernel : KernelOpInterface::ExternalModel<ReduceKernel, ReduceOp> {
  int64_t getKernelRange(Operation *op) const { return Reduction(cast<ReduceOp>(op)).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return Reduction(cast<ReduceOp>(op)).unit(); }
  void emitKernel(Operation *op, KernelBuilder &k) const { Reduction(cast<ReduceOp>(op)).emit(k); }
};

// Adds up in one unit, so that the order of the sum is fixed. Chunks are added up in f32 and their
// sums in f64: one long f32 sum of up to billions of elements would lose the small ones.
struct SumSquaresKernel : KernelOpInterface::ExternalModel<SumSquaresKernel, SumSquaresOp> {
  static constexpr int64_t chunk = 4096;

  int64_t getKernelRange(Operation *) const { return 1; }
  KernelUnit getKernelUnit(Operation *op) const {
    return {cast<RankedTensorType>(op->getOperand(0).getType()).getNumElements(), true};
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    int64_t size = cast<RankedTensorType>(op->getOperand(0).getType()).getNumElements();
    int64_t whole = size - size % chunk;
    k.forEachUnit(whole > 0 ? Extent{whole / chunk, chunk} : Extent{1, size}, [&](Value) {
      Value total = arith::ConstantOp::create(k.builder, k.loc, k.builder.getF64FloatAttr(0));
      Values totals = {total};
      if (whole > 0)
        totals = k.combineParts(k.index(whole / chunk), KernelBuilder::Combining::Sum, totals,
                                /*atOnce=*/1, [&](Value i, ValueRange now) -> Values {
                                  return {addChunk(k, now[0], k.mul(i, chunk), chunk)};
                                });
      if (size > whole)
        totals[0] = addChunk(k, totals[0], k.index(whole), size - whole);
      Value sum = arith::TruncFOp::create(k.builder, k.loc, k.builder.getF32Type(), totals[0]);
      k.storeScalar(sum, k.result(0), k.index(0));
    });
  }

private:
  static Value addChunk(KernelBuilder &k, Value total, Value base, int64_t size) {
    int64_t width = k.laneCount(size);
    Values sums = k.forEachVector(size, k.splat(0, width),
                                  [&](Value column, Lanes lanes, ValueRange now) -> Values {
                                    Value x = k.load(k.operand(0), k.add(base, column), lanes);
                                    return {k.fma(x, x, now[0])};
                                  });
    Value sum = arith::ExtFOp::create(k.builder, k.loc, k.builder.getF64Type(), k.sum(sums[0]));
    return arith::AddFOp::create(k.builder, k.loc, total, sum);
  }
};

struct AmaxKernel : KernelOpInterface::ExternalModel<AmaxKernel, AmaxOp> {
  int64_t getKernelRange(Operation *op) const { return Reduction(cast<AmaxOp>(op)).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return Reduction(cast<AmaxOp>(op)).unit(); }
  void emitKernel(Operation *op, KernelBuilder &k) const { Reduction(cast<AmaxOp>(op)).emit(k); }
};

} // namespace

void dtc::attachReduceKernels(MLIRContext *context) {
  AmaxOp::attachInterface<AmaxKernel>(*context);
  ReduceOp::attachInterface<ReduceKernel>(*context);
  SumSquaresOp::attachInterface<SumSquaresKernel>(*context);
}

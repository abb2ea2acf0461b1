// The kernel of the cumulative sum along any dim.
#include "dialects/graph/ShapeOps.h"
#include "passes/codegen/DimShape.h"
#include "passes/codegen/KernelModels.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

// Returns the shape around the dim that is added up.
DimShape shapeOf(Operation *op) {
  auto cumsum = cast<CumsumOp>(op);
  return {cumsum.getX(), static_cast<int64_t>(cumsum.getDim())};
}

// Adds up neighbouring columns of one row.
struct ColumnSums {
  DimShape shape;
  bool isReversed;

  void emit(KernelBuilder &k, Value row, Value column, const Lanes &lanes) const {
    k.forLoop(k.index(0), k.index(shape.size), 1, k.splat(0, lanes.width),
              [&](Value step, ValueRange now) -> Values {
                Value i = isReversed ? k.sub(k.index(shape.size - 1), step) : step;
                Value line = k.add(k.mul(row, shape.size), i);
                Value at = k.add(k.mul(line, shape.columns), column);
                Value sum = k.addF(now[0], k.load(k.operand(0), at, lanes));
                k.store(sum, k.result(0), at, lanes);
                return {sum};
              });
  }
};

// Computes y[r, i, c] = x[r, 0, c] + ... + x[r, i, c] for a block of neighbouring columns c, from
// the last i on if the sum is reversed. One unit adds up a whole column in f32 in order, so that
// the sums do not depend on threads. Neighbouring columns are the lanes of a vector; if the last
// dim is added up, a row has one lane. The result is another buffer than x: on a GPU, lanes past
// the end of a row read its first lane's elements.
struct CumsumKernel : KernelOpInterface::ExternalModel<CumsumKernel, CumsumOp> {
  static constexpr int64_t blockColumns = 32;

  int64_t getKernelRange(Operation *op) const {
    DimShape shape = shapeOf(op);
    return KernelBuilder::columnUnits(shape.rows, shape.columns, blockColumns);
  }
  KernelUnit getKernelUnit(Operation *op) const {
    DimShape shape = shapeOf(op);
    int64_t width =
        std::min(shape.columns, KernelBuilder::vectorWidth(shape.columns, blockColumns));
    return {std::max<int64_t>(1, shape.size * width), /*combines=*/true};
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    ColumnSums sums{shapeOf(op), cast<CumsumOp>(op).getReverse()};
    const DimShape &shape = sums.shape;
    // A single part: on a GPU one thread of the block adds up a column, and the others rest.
    k.forEachColumnUnit({shape.rows, shape.columns, blockColumns, /*parts=*/1},
                        [&](Value row, Value column, Lanes lanes) {
                          k.forEachPart(k.index(1),
                                        [&](Value) { sums.emit(k, row, column, lanes); });
                        });
  }
};

} // namespace

void dtc::attachCumsumKernels(MLIRContext *context) {
  CumsumOp::attachInterface<CumsumKernel>(*context);
}

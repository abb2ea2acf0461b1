// The kernel of the cumulative sum along any dim.
#include "passes/codegen/KernelModels.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

// A tensor as [rows, size, columns], where `size` is the dim that is added up.
struct CumsumShape {
  int64_t rows = 1, size = 1, columns = 1;

  explicit CumsumShape(CumsumOp op) {
    int64_t dim = op.getDim();
    for (auto [i, extent] : llvm::enumerate(op.getType().getShape()))
      (static_cast<int64_t>(i) < dim    ? rows
       : static_cast<int64_t>(i) == dim ? size
                                        : columns) *= extent;
  }
};

// Computes y[r, i, c] = x[r, 0, c] + ... + x[r, i, c] for a block of neighbouring columns c, from
// the last i on if the sum is reversed. One unit adds up a whole column in f32 in order, so that
// the sums do not depend on threads. Neighbouring columns are the lanes of a vector; if the last
// dim is added up, a row has one lane.
struct CumsumKernel : KernelOpInterface::ExternalModel<CumsumKernel, CumsumOp> {
  static constexpr int64_t blockColumns = 32;

  int64_t getKernelRange(Operation *op) const {
    CumsumShape shape(cast<CumsumOp>(op));
    return KernelBuilder::columnUnits(shape.rows, shape.columns, blockColumns);
  }
  KernelUnit getKernelUnit(Operation *op) const {
    CumsumShape shape(cast<CumsumOp>(op));
    int64_t width =
        std::min(shape.columns, KernelBuilder::vectorWidth(shape.columns, blockColumns));
    return {std::max<int64_t>(1, shape.size * width), /*combines=*/true};
  }
  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const { return {{0, 0}}; }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    CumsumShape shape(cast<CumsumOp>(op));
    bool isReversed = cast<CumsumOp>(op).getReverse();
    k.forEachColumnUnit({shape.rows, shape.columns, blockColumns, /*parts=*/1},
                        [&](Value row, Value column, Lanes lanes) {
                          k.forLoop(k.index(0), k.index(shape.size), 1, k.splat(0, lanes.width),
                                    [&](Value step, ValueRange now) -> Values {
                                      Value i =
                                          isReversed ? k.sub(k.index(shape.size - 1), step) : step;
                                      Value line = k.add(k.mul(row, shape.size), i);
                                      Value at = k.add(k.mul(line, shape.columns), column);
                                      Value sum = k.addF(now[0], k.load(k.operand(0), at, lanes));
                                      k.store(sum, k.result(0), at, lanes);
                                      return {sum};
                                    });
                        });
  }
};

} // namespace

void dtc::attachCumsumKernels(MLIRContext *context) {
  CumsumOp::attachInterface<CumsumKernel>(*context);
}

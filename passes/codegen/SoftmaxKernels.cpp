// Kernels of softmax and its gradient, row by row.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "passes/codegen/KernelModels.h"
#include "passes/codegen/RowShape.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

// Computes y = exp(x - max) / sum(exp(x - max)) in three passes over a row that stays in the
// first-level cache. Subtracting the maximum makes the largest exponential 1 and the sum at least 1
// for any x. A variant with one pass less (Milakov and Gimelshein 2018, arXiv:1805.02867) would
// take two exponentials per point, which cost more than the pass.
struct SoftmaxKernel : KernelOpInterface::ExternalModel<SoftmaxKernel, SoftmaxOp> {
  int64_t getKernelRange(Operation *op) const { return RowShape::of(op->getOperand(0)).range(); }
  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const { return {{0, 0}}; }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowShape shape = RowShape::of(op->getOperand(0));
    // Computes the exponentials twice for a narrow result, which cannot hold them between the
    // passes.
    bool keepsExp = cast<SoftmaxOp>(op).getType().getElementType().isF32();
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value base = k.mul(row, shape.columns);
      Value max = k.maxOfRow(k.operand(0), base, shape.columns);
      auto exponential = [&](Value at, const Lanes &lanes) {
        return k.exp(k.subF(k.load(k.operand(0), at, lanes), k.splat(max, lanes.width)));
      };
      int64_t width = k.laneCount(shape.columns);
      Values sums = k.forEachVector(shape.columns, k.splat(0, width),
                                    [&](Value column, Lanes lanes, ValueRange now) -> Values {
                                      Value at = k.add(base, column);
                                      Value e = exponential(at, lanes);
                                      if (keepsExp)
                                        k.store(e, k.result(0), at, lanes);
                                      return {k.addF(now[0], k.keep(e, 0, lanes))};
                                    });
      Value scale = k.divF(k.constant(1), k.sum(sums[0]));
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value at = k.add(base, column);
        Value e = keepsExp ? k.load(k.result(0), at, lanes) : exponential(at, lanes);
        k.store(k.mulF(e, k.splat(scale, lanes.width)), k.result(0), at, lanes);
        return {};
      });
    });
  }
};

// Computes dx = (dy - sum(dy * y)) * y in two passes, from the results of the forward op
// (NnGradients.cpp).
struct SoftmaxGradKernel : KernelOpInterface::ExternalModel<SoftmaxGradKernel, SoftmaxGradOp> {
  int64_t getKernelRange(Operation *op) const { return RowShape::of(op->getOperand(0)).range(); }
  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const {
    return {{0, 0}, {0, 1}};
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowShape shape = RowShape::of(op->getOperand(0));
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value base = k.mul(row, shape.columns);
      int64_t width = k.laneCount(shape.columns);
      Values sums = k.forEachVector(shape.columns, k.splat(0, width),
                                    [&](Value column, Lanes lanes, ValueRange now) -> Values {
                                      Value at = k.add(base, column);
                                      return {k.fma(k.load(k.operand(0), at, lanes),
                                                    k.load(k.operand(1), at, lanes), now[0])};
                                    });
      Value sum = k.sum(sums[0]);
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value at = k.add(base, column);
        Value left = k.subF(k.load(k.operand(1), at, lanes), k.splat(sum, lanes.width));
        k.store(k.mulF(left, k.load(k.operand(0), at, lanes)), k.result(0), at, lanes);
        return {};
      });
    });
  }
};

} // namespace

void dtc::attachSoftmaxKernels(MLIRContext *context) {
  SoftmaxOp::attachInterface<SoftmaxKernel>(*context);
  SoftmaxGradOp::attachInterface<SoftmaxGradKernel>(*context);
}

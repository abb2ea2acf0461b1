// Kernels of layer_norm and rms_norm: rows forward and backward, columns for the parameters.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/PartOps.h"
#include "passes/codegen/KernelModels.h"
#include "passes/codegen/RowShape.h"
#include "passes/codegen/SumParts.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

template <typename Model, typename OpTy>
struct NormRows : KernelOpInterface::ExternalModel<Model, OpTy> {
  int64_t getKernelRange(Operation *op) const { return RowShape::of(op->getOperand(0)).range(); }
};

// Returns the sum of `term` over the columns of a row.
Value sumColumns(KernelBuilder &k, int64_t columns,
                 llvm::function_ref<Value(Value column, const Lanes &)> term) {
  int64_t width = k.laneCount(columns);
  Values sums = k.forEachVector(
      columns, k.splat(0, width), [&](Value column, Lanes lanes, ValueRange carried) -> Values {
        return {k.addF(carried[0], k.keep(term(column, lanes), 0, lanes))};
      });
  return k.sum(sums[0]);
}

// Returns 1 / sqrt(sum / columns + epsilon).
Value inverseDeviation(KernelBuilder &k, Value sum, int64_t columns, const APFloat &epsilon) {
  Value mean = k.mulF(sum, k.constant(1.0 / columns));
  Value root = k.sqrt(k.addF(mean, k.constant(epsilon.convertToDouble())));
  return k.divF(k.constant(1), root);
}

// Computes mean = sum(x) / C; rstd = 1 / sqrt(sum((x - mean)^2) / C + epsilon); y = (x - mean) *
// rstd * weight + bias. Makes three passes over a row that stays in the first-level cache.
struct LayerNormKernel : NormRows<LayerNormKernel, LayerNormOp> {
  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const { return {{0, 0}}; }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowShape shape = RowShape::of(op->getOperand(0));
    APFloat epsilon = cast<LayerNormOp>(op).getEpsilon();
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value base = k.mul(row, shape.columns);
      auto x = [&](Value column, const Lanes &lanes) {
        return k.load(k.operand(0), k.add(base, column), lanes);
      };
      Value mean = k.mulF(sumColumns(k, shape.columns, x), k.constant(1.0 / shape.columns));
      Value squares = sumColumns(k, shape.columns, [&](Value column, const Lanes &lanes) {
        Value centred = k.subF(x(column, lanes), k.splat(mean, lanes.width));
        return k.mulF(centred, centred);
      });
      Value rstd = inverseDeviation(k, squares, shape.columns, epsilon);
      k.storeScalar(mean, k.result(1), row);
      k.storeScalar(rstd, k.result(2), row);
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value centred = k.subF(x(column, lanes), k.splat(mean, lanes.width));
        Value normal = k.mulF(centred, k.splat(rstd, lanes.width));
        Value y =
            k.fma(normal, k.load(k.operand(1), column, lanes), k.load(k.operand(2), column, lanes));
        k.store(y, k.result(0), k.add(base, column), lanes);
        return {};
      });
    });
  }
};

// Computes rstd = 1 / sqrt(sum(x^2) / C + epsilon) and y = x * rstd * weight.
struct RmsNormKernel : NormRows<RmsNormKernel, RmsNormOp> {
  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const { return {{0, 0}}; }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowShape shape = RowShape::of(op->getOperand(0));
    APFloat epsilon = cast<RmsNormOp>(op).getEpsilon();
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value base = k.mul(row, shape.columns);
      Value squares = sumColumns(k, shape.columns, [&](Value column, const Lanes &lanes) {
        Value x = k.load(k.operand(0), k.add(base, column), lanes);
        return k.mulF(x, x);
      });
      Value rstd = inverseDeviation(k, squares, shape.columns, epsilon);
      k.storeScalar(rstd, k.result(1), row);
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value x = k.load(k.operand(0), k.add(base, column), lanes);
        Value y =
            k.mulF(k.mulF(x, k.splat(rstd, lanes.width)), k.load(k.operand(1), column, lanes));
        k.store(y, k.result(0), k.add(base, column), lanes);
        return {};
      });
    });
  }
};

// Computes dx = rstd * (g - sum(g) / C - xhat * sum(g * xhat) / C) with xhat = (x - mean) * rstd
// and g = dy * weight; rms_norm has neither the mean nor the first sum (derived in
// dialects/graph/NnGradients.cpp). Makes two passes, one for the sums and one for dx; computing
// xhat and g in both is cheaper than storing them.
template <typename OpTy, bool hasMean>
struct NormGradKernel : NormRows<NormGradKernel<OpTy, hasMean>, OpTy> {
  static constexpr unsigned rstdOperand = hasMean ? 3 : 2;

  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const {
    return {{0, 0}, {0, rstdOperand + 1}};
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowShape shape = RowShape::of(op->getOperand(0));
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value base = k.mul(row, shape.columns);
      Value mean = hasMean ? k.loadScalar(k.operand(2), row) : Value();
      Value rstd = k.loadScalar(k.operand(rstdOperand), row);
      // Returns (g, xhat).
      auto terms = [&](Value column, const Lanes &lanes) {
        Value at = k.add(base, column);
        Value x = k.load(k.operand(0), at, lanes);
        if (hasMean)
          x = k.subF(x, k.splat(mean, lanes.width));
        Value g = k.mulF(k.load(k.operand(rstdOperand + 1), at, lanes),
                         k.load(k.operand(1), column, lanes));
        return std::pair(g, k.mulF(x, k.splat(rstd, lanes.width)));
      };
      std::pair<Value, Value> both = sums(k, shape.columns, terms);
      Value sum = both.first, product = both.second;
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        auto [g, xhat] = terms(column, lanes);
        Value dx = k.subF(g, k.mulF(xhat, k.splat(product, lanes.width)));
        if (hasMean)
          dx = k.subF(dx, k.splat(sum, lanes.width));
        k.store(k.mulF(dx, k.splat(rstd, lanes.width)), k.result(0), k.add(base, column), lanes);
        return {};
      });
    });
  }

private:
  // Returns sum(g) / C (null without mean) and sum(g * xhat) / C. Masked lanes hold g = 0.
  template <typename Terms>
  static std::pair<Value, Value> sums(KernelBuilder &k, int64_t columns, Terms terms) {
    int64_t width = k.laneCount(columns);
    Values carried(hasMean ? 2 : 1, k.splat(0, width));
    carried = k.forEachVector(columns, carried, [&](Value column, Lanes lanes, ValueRange now) {
      auto [g, xhat] = terms(column, lanes);
      Values next = {k.fma(g, xhat, now[0])};
      if (hasMean)
        next.push_back(k.addF(now[1], g));
      return next;
    });
    Value scale = k.constant(1.0 / columns);
    Value product = k.mulF(k.sum(carried[0]), scale);
    return {hasMean ? k.mulF(k.sum(carried[1]), scale) : Value(), product};
  }
};

// Computes dweight = sum over rows of dy * (x - mean) * rstd and dbias = sum over rows of dy, for
// each part of the rows. A unit is a block of columns of one part and adds its rows in order: the
// sums do not depend on the number of threads.
struct ParamGrads {
  RowParts rows;
  Value x, mean, rstd, dy; // buffers; a null mean counts as 0
  bool hasBias;

  void emit(KernelBuilder &k, int64_t unitColumns) const {
    rows.forEachUnit(k, unitColumns, [&](Value part, Value column, Lanes lanes, auto sumRows) {
      Values sums =
          sumRows(Values(hasBias ? 2 : 1, k.splat(0, lanes.width)),
                  [&](Value row, ValueRange now) { return add(k, row, column, lanes, now); });
      Value at = rows.parts == 1 ? column : k.add(k.mul(part, rows.columns), column);
      for (auto [i, sum] : llvm::enumerate(sums))
        k.store(sum, k.result(i), at, lanes);
    });
  }

private:
  Values add(KernelBuilder &k, Value row, Value column, const Lanes &lanes, ValueRange now) const {
    Value at = k.add(k.mul(row, rows.columns), column);
    Value point = k.load(x, at, lanes);
    Value gradient = k.load(dy, at, lanes);
    if (mean)
      point = k.subF(point, k.splat(k.loadScalar(mean, row), lanes.width));
    Value scale = k.splat(k.loadScalar(rstd, row), lanes.width);
    Values next = {k.fma(gradient, k.mulF(point, scale), now[0])};
    if (hasBias)
      next.push_back(k.addF(now[1], gradient));
    return next;
  }
};

RowParts rowsOf(Value x, int64_t parts = 1) {
  RowShape shape = RowShape::of(x);
  return {shape.rows, shape.columns, parts};
}

template <typename OpTy, bool hasMean>
struct NormParamGradKernel
    : KernelOpInterface::ExternalModel<NormParamGradKernel<OpTy, hasMean>, OpTy> {
  int64_t getKernelRange(Operation *op) const {
    return rowsOf(op->getOperand(0)).range(normParamColumns);
  }
  KernelUnit getKernelUnit(Operation *op) const {
    KernelUnit unit = rowsOf(op->getOperand(0)).unit(normParamColumns);
    unit.combines = true;
    return unit;
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    unsigned rstd = hasMean ? 2 : 1;
    Value mean = hasMean ? k.operand(1) : Value();
    ParamGrads{rowsOf(op->getOperand(0)), k.operand(0),        mean,
               k.operand(rstd),           k.operand(rstd + 1), hasMean}
        .emit(k, normParamColumns);
  }
};

struct NormParamGradPartsKernel
    : KernelOpInterface::ExternalModel<NormParamGradPartsKernel, NormParamGradPartsOp> {
  static RowParts rows(Operation *op) {
    auto parts = cast<RankedTensorType>(op->getResult(0).getType());
    return rowsOf(op->getOperand(0), parts.getDimSize(0));
  }
  int64_t getKernelRange(Operation *op) const { return rows(op).range(normPartColumns); }
  KernelUnit getKernelUnit(Operation *op) const { return rows(op).unit(normPartColumns); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    Value mean = op->getNumOperands() > 3 ? k.operand(3) : Value();
    ParamGrads{rows(op), k.operand(0), mean, k.operand(1), k.operand(2), op->getNumResults() > 1}
        .emit(k, normPartColumns);
  }
};

} // namespace

void dtc::attachNormKernels(MLIRContext *context) {
  LayerNormOp::attachInterface<LayerNormKernel>(*context);
  RmsNormOp::attachInterface<RmsNormKernel>(*context);
  LayerNormGradOp::attachInterface<NormGradKernel<LayerNormGradOp, true>>(*context);
  RmsNormGradOp::attachInterface<NormGradKernel<RmsNormGradOp, false>>(*context);
  LayerNormParamGradOp::attachInterface<NormParamGradKernel<LayerNormParamGradOp, true>>(*context);
  RmsNormParamGradOp::attachInterface<NormParamGradKernel<RmsNormParamGradOp, false>>(*context);
  NormParamGradPartsOp::attachInterface<NormParamGradPartsKernel>(*context);
}

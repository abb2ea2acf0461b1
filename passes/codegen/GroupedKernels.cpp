// Kernels of matrix products over groups of rows, those of a mixture's experts. The rows of a group
// are data: a unit finds them from the counts. A group without rows reads no weight. Sums are in
// f32 and in the order of their terms, or in that of a vector's lanes, whatever the threads.
#include "passes/codegen/GroupedKernels.h"

#include "dialects/graph/RouteOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t kBlockColumns = 32; // lanes of a unit that computes neighbouring columns
constexpr int64_t kRowsAtOnce = 4;    // rows that share a vector of the other operand
constexpr int64_t kPair = 2;          // rows and columns of a tile of dot products

int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

// The sizes of a product: rows [experts, batch, rows, columns...] of `x` and of `other`.
struct Sizes {
  int64_t experts, samples, rows, xColumns, otherColumns;

  Sizes(Value x, Value other) {
    auto shape = cast<RankedTensorType>(x.getType()).getShape();
    experts = shape[0], samples = shape[1], rows = shape[0] * shape[1] * shape[2];
    xColumns = elementsOf(x) / std::max<int64_t>(1, rows);
    otherColumns = elementsOf(other) / std::max<int64_t>(1, rows);
  }
};

// The rows of an expert, [first, end).
struct ExpertRows {
  Value first, end;

  ExpertRows(KernelBuilder &k, const Sizes &sizes, Value counts, Value expert) {
    auto is = [&](arith::CmpIPredicate predicate, Value g, Value count) {
      Value holds = arith::CmpIOp::create(k.builder, k.loc, predicate, g, expert);
      return k.select(holds, count, k.index(0));
    };
    Values sums = k.forLoop(k.index(0), k.index(sizes.samples), 1, {k.index(0), k.index(0)},
                            [&](Value sample, ValueRange now) -> Values {
                              return k.forLoop(
                                  k.index(0), k.index(sizes.experts), 1, now,
                                  [&](Value g, ValueRange sum) -> Values {
                                    Value at = k.add(k.mul(sample, sizes.experts), g);
                                    Value count = k.loadIndex(counts, at);
                                    return {k.add(sum[0], is(arith::CmpIPredicate::slt, g, count)),
                                            k.add(sum[1], is(arith::CmpIPredicate::eq, g, count))};
                                  });
                            });
    first = sums[0], end = k.add(sums[0], sums[1]);
  }
  // Returns where the rows end that a unit of this expert fills: the last expert's units write
  // zeros to the rows behind its own.
  Value endOfFill(KernelBuilder &k, const Sizes &sizes, Value expert) const {
    Value isLast = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, expert,
                                         k.index(sizes.experts - 1));
    return k.select(isLast, k.index(sizes.rows), end);
  }
};

// Computes y = x w^T with w [experts, out, in]: dot products of rows, in tiles of two by two.
void emitDots(KernelBuilder &k, const Sizes &sizes) {
  int64_t in = sizes.xColumns, out = sizes.otherColumns, blocks = llvm::divideCeil(out, kPair);
  k.forEachUnit({1, in}, [&](Value unit) {
    Value expert = k.div(unit, blocks), column = k.mul(k.rem(unit, blocks), kPair);
    ExpertRows rows(k, sizes, k.operand(2), expert);
    Values columns, weights;
    for (int64_t j = 0; j < kPair; ++j) { // a tile that is cut off repeats its last row or column
      columns.push_back(k.min(k.add(column, j), k.index(out - 1)));
      weights.push_back(k.mul(k.add(k.mul(expert, out), columns[j]), in));
    }
    int64_t width = k.laneCount(in);
    k.forLoop(rows.first, rows.end, kPair, {}, [&](Value first, ValueRange) -> Values {
      Values row, from;
      Value last = k.sub(rows.end, k.index(1));
      for (int64_t i = 0; i < kPair; ++i) {
        row.push_back(k.min(k.add(first, i), last));
        from.push_back(k.mul(row[i], in));
      }
      Values zeros(kPair * kPair, k.splat(0, width));
      Values sums =
          k.forEachVector(in, zeros, [&](Value at, Lanes lanes, ValueRange now) -> Values {
            Values x, w, next;
            for (int64_t i = 0; i < kPair; ++i)
              x.push_back(k.load(k.operand(0), k.add(from[i], at), lanes));
            for (int64_t j = 0; j < kPair; ++j)
              w.push_back(k.load(k.operand(1), k.add(weights[j], at), lanes));
            for (int64_t i = 0; i < kPair; ++i)
              for (int64_t j = 0; j < kPair; ++j)
                next.push_back(k.fma(x[i], w[j], now[i * kPair + j]));
            return next;
          });
      for (int64_t i = 0; i < kPair; ++i)
        for (int64_t j = 0; j < kPair; ++j)
          k.storeScalar(k.sum(sums[i * kPair + j]), k.result(0),
                        k.add(k.mul(row[i], out), columns[j]));
      return {};
    });
    k.forEach(rows.end, rows.endOfFill(k, sizes, expert), [&](Value row) {
      for (Value each : columns)
        k.storeScalar(k.constant(0), k.result(0), k.add(k.mul(row, out), each));
    });
  });
}

// Adds up, for `rows` rows, terms that are a number of the row times a vector that rows share.
Values addTerms(KernelBuilder &k, Value begin, Value end, const Lanes &lanes,
                llvm::function_ref<Value(Value)> vectorAt,
                llvm::function_ref<Value(Value, int64_t)> numberAt) {
  Values zeros(kRowsAtOnce, k.splat(0, lanes.width));
  return k.forLoop(begin, end, 1, zeros, [&](Value term, ValueRange now) -> Values {
    Value vector = vectorAt(term);
    Values next;
    for (int64_t i = 0; i < kRowsAtOnce; ++i)
      next.push_back(k.fma(k.splat(numberAt(term, i), lanes.width), vector, now[i]));
    return next;
  });
}

// Computes y = x w with w [experts, in, out], by columns of y.
void emitColumns(KernelBuilder &k, const Sizes &sizes) {
  int64_t in = sizes.xColumns, out = sizes.otherColumns;
  k.forEachColumnUnit(
      {sizes.experts, out, kBlockColumns, /*parts=*/1},
      [&](Value expert, Value column, Lanes lanes) {
        ExpertRows rows(k, sizes, k.operand(2), expert);
        k.forEachPart(k.index(1), [&](Value) {
          k.forLoop(rows.first, rows.end, kRowsAtOnce, {}, [&](Value first, ValueRange) -> Values {
            Values row, from;
            Value last = k.sub(rows.end, k.index(1));
            for (int64_t i = 0; i < kRowsAtOnce; ++i) {
              row.push_back(k.min(k.add(first, i), last));
              from.push_back(k.mul(row[i], in));
            }
            Values sums = addTerms(
                k, k.index(0), k.index(in), lanes,
                [&](Value term) {
                  Value line = k.add(k.mul(expert, in), term);
                  return k.load(k.operand(1), k.add(k.mul(line, out), column), lanes);
                },
                [&](Value term, int64_t i) {
                  return k.loadScalar(k.operand(0), k.add(from[i], term));
                });
            for (int64_t i = 0; i < kRowsAtOnce; ++i)
              k.store(sums[i], k.result(0), k.add(k.mul(row[i], out), column), lanes);
            return {};
          });
          k.forEach(rows.end, rows.endOfFill(k, sizes, expert), [&](Value row) {
            k.store(k.splat(0, lanes.width), k.result(0), k.add(k.mul(row, out), column), lanes);
          });
        });
      });
}

struct GroupedLinearKernel
    : KernelOpInterface::ExternalModel<GroupedLinearKernel, GroupedLinearOp> {
  static Sizes sizesOf(Operation *op) { return {op->getOperand(0), op->getResult(0)}; }
  static bool isTransposed(Operation *op) { return cast<GroupedLinearOp>(op).getTransposed(); }

  int64_t getKernelRange(Operation *op) const {
    Sizes sizes = sizesOf(op);
    if (isTransposed(op))
      return sizes.experts *
             static_cast<int64_t>(llvm::divideCeil(sizes.otherColumns, uint64_t(kPair)));
    return KernelBuilder::columnUnits(sizes.experts, sizes.otherColumns, kBlockColumns);
  }
  KernelUnit getKernelUnit(Operation *op) const {
    Sizes sizes = sizesOf(op);
    return {std::max<int64_t>(1, sizes.xColumns * kPair), /*combines=*/true};
  }
  void emitKernel(Operation *op, KernelBuilder &k) const {
    isTransposed(op) ? emitDots(k, sizesOf(op)) : emitColumns(k, sizesOf(op));
  }
};

// Computes dw[e] = left^T right over the rows of e: x^T dy, or dy^T x for a transposed weight.
struct GroupedWeightGradKernel
    : KernelOpInterface::ExternalModel<GroupedWeightGradKernel, GroupedLinearWeightGradOp> {
  static bool isTransposed(Operation *op) {
    return cast<GroupedLinearWeightGradOp>(op).getTransposed();
  }
  static int64_t blocksOf(int64_t left) {
    return static_cast<int64_t>(llvm::divideCeil(left, uint64_t(kRowsAtOnce)));
  }
  int64_t getKernelRange(Operation *op) const {
    Sizes sizes(op->getOperand(0), op->getOperand(1));
    int64_t left = isTransposed(op) ? sizes.otherColumns : sizes.xColumns;
    int64_t right = isTransposed(op) ? sizes.xColumns : sizes.otherColumns;
    return KernelBuilder::columnUnits(sizes.experts * blocksOf(left), right, kBlockColumns);
  }
  KernelUnit getKernelUnit(Operation *op) const {
    Sizes sizes(op->getOperand(0), op->getOperand(1));
    return {std::max<int64_t>(1, sizes.rows / sizes.experts * kBlockColumns), /*combines=*/true};
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    Sizes sizes(op->getOperand(0), op->getOperand(1));
    unsigned ofLeft = isTransposed(op) ? 1 : 0, ofRight = 1 - ofLeft;
    int64_t left = isTransposed(op) ? sizes.otherColumns : sizes.xColumns;
    int64_t right = isTransposed(op) ? sizes.xColumns : sizes.otherColumns;
    k.forEachColumnUnit(
        {sizes.experts * blocksOf(left), right, kBlockColumns, /*parts=*/1},
        [&](Value unit, Value column, Lanes lanes) {
          Value expert = k.div(unit, blocksOf(left));
          Value first = k.mul(k.rem(unit, blocksOf(left)), kRowsAtOnce);
          ExpertRows rows(k, sizes, k.operand(2), expert);
          Values lines; // a block that is cut off repeats its last line
          for (int64_t i = 0; i < kRowsAtOnce; ++i)
            lines.push_back(k.min(k.add(first, i), k.index(left - 1)));
          k.forEachPart(k.index(1), [&](Value) {
            Values sums = addTerms(
                k, rows.first, rows.end, lanes,
                [&](Value row) {
                  return k.load(k.operand(ofRight), k.add(k.mul(row, right), column), lanes);
                },
                [&](Value row, int64_t i) {
                  return k.loadScalar(k.operand(ofLeft), k.add(k.mul(row, left), lines[i]));
                });
            for (int64_t i = 0; i < kRowsAtOnce; ++i) {
              Value line = k.add(k.mul(expert, left), lines[i]);
              k.store(sums[i], k.result(0), k.add(k.mul(line, right), column), lanes);
            }
          });
        });
  }
};

} // namespace

void dtc::attachGroupedKernels(MLIRContext *context) {
  GroupedLinearOp::attachInterface<GroupedLinearKernel>(*context);
  GroupedLinearWeightGradOp::attachInterface<GroupedWeightGradKernel>(*context);
}

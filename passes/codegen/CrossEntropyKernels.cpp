// Kernels of cross_entropy, of its gradient and of the parts it splits into when words are split
// over ranks.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/KernelModels.h"
#include "passes/codegen/RowShape.h"

#include <limits>

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

// One rank's words of a row.
class Words {
public:
  Words(Operation *op, KernelBuilder &k) : k(k), shape(RowShape::of(op->getOperand(0))) {
    unsigned loop = cast<RankedTensorType>(op->getOperand(0).getType()).getRank() - 1;
    window = KernelBuilder::findWindow(getWindows(op), loop, shape.columns);
    if (window)
      limit = k.validSize(window);
  }

  // `value` in the lanes of real words, `neutral` in padding and past the row's end.
  Value keep(Value value, double neutral, Value column, const Lanes &lanes) const {
    value = k.keep(value, neutral, lanes);
    return window ? k.keepBelow(value, neutral, column, limit) : value;
  }

  // sum over words of exp(x - subtracted)
  Value sumExp(Value x, Value base, Value subtracted) const {
    int64_t width = k.laneCount(shape.columns);
    Values sums = k.forEachVector(
        shape.columns, k.splat(0, width), [&](Value column, Lanes lanes, ValueRange now) -> Values {
          Value shifted =
              k.subF(k.load(x, k.add(base, column), lanes), k.splat(subtracted, lanes.width));
          return {k.addF(now[0], keep(k.exp(shifted), 0, column, lanes))};
        });
    return k.sum(sums[0]);
  }

  // The target of `row` as a column of this rank, and whether it is one.
  std::pair<Value, Value> target(Value targets, Value row) const {
    Value word = k.loadIndex(targets, row);
    if (window)
      word = k.localOf(window, word);
    // As unsigned numbers, words before the first are larger than all others.
    Value inside = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ult, word,
                                         k.index(shape.columns));
    if (window) {
      Value real = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::slt, word, limit);
      inside = arith::AndIOp::create(k.builder, k.loc, inside, real);
    }
    return {word, inside};
  }

  // 0 for a row whose target is ignored, else `value`.
  Value unlessIgnored(Value value, std::optional<int64_t> ignoring, Value targets,
                      Value row) const {
    if (!ignoring)
      return value;
    Value ignored = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq,
                                          k.loadIndex(targets, row), k.index(*ignoring));
    return k.select(ignored, k.constant(0), value);
  }

  // x[row, target], 0 for a target that is not here.
  Value pick(Value x, Value base, Value word, Value inside) const {
    // The load must stay in the row even when its value is not used.
    Value at = k.add(base, k.select(inside, word, k.index(0)));
    return k.select(inside, k.loadScalar(x, at), k.constant(0));
  }

  KernelBuilder &k;
  RowShape shape;

private:
  WindowAttr window;
  Value limit;
};

// lse = max + log(sum(exp(x - max))); loss = lse - x[target], 0 where the target is ignored.
struct CrossEntropyKernel : KernelOpInterface::ExternalModel<CrossEntropyKernel, CrossEntropyOp> {
  int64_t getKernelRange(Operation *op) const { return RowShape::of(op->getOperand(0)).range(); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    Words words(op, k);
    RowShape shape = words.shape;
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value base = k.mul(row, shape.columns);
      KernelBuilder::SumOfExponentials all =
          k.sumExponentials(shape.columns, [&](Value column, const Lanes &lanes) {
            Value x = k.load(k.operand(0), k.add(base, column), lanes);
            return words.keep(x, -std::numeric_limits<double>::infinity(), column, lanes);
          });
      Value lse = k.addF(all.max, k.log(all.sum));
      auto [word, inside] = words.target(k.operand(1), row);
      Value loss = k.subF(lse, words.pick(k.operand(0), base, word, inside));
      std::optional<int64_t> ignoring = cast<CrossEntropyOp>(op).getIgnoring();
      k.storeScalar(words.unlessIgnored(loss, ignoring, k.operand(1), row), k.result(0), row);
      k.storeScalar(lse, k.result(1), row);
    });
  }
};

// d = exp(x - lse) * dloss, less dloss at the target; 0 for padded words and ignored targets. The
// target's element is written again at the end, by a scalar store: a comparison in each lane would
// cost every word what one of them needs.
struct CrossEntropyGradKernel
    : KernelOpInterface::ExternalModel<CrossEntropyGradKernel, CrossEntropyGradOp> {
  int64_t getKernelRange(Operation *op) const { return RowShape::of(op->getOperand(0)).range(); }
  KernelUnit getKernelUnit(Operation *op) const {
    return RowShape::of(op->getOperand(0)).unit(/*combines=*/false);
  }
  SmallVector<std::pair<int64_t, int64_t>> getInPlacePairs(Operation *) const { return {{0, 0}}; }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    Words words(op, k);
    RowShape shape = words.shape;
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value base = k.mul(row, shape.columns);
      Value lse = k.loadScalar(k.operand(2), row);
      std::optional<int64_t> ignoring = cast<CrossEntropyGradOp>(op).getIgnoring();
      Value dloss =
          words.unlessIgnored(k.loadScalar(k.operand(3), row), ignoring, k.operand(1), row);
      auto [word, inside] = words.target(k.operand(1), row);
      // Read before the row may be overwritten.
      Value own = k.exp(k.subF(words.pick(k.operand(0), base, word, inside), lse));
      k.synchronize();
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value at = k.add(base, column);
        Value p = k.exp(k.subF(k.load(k.operand(0), at, lanes), k.splat(lse, lanes.width)));
        Value d = words.keep(k.mulF(p, k.splat(dloss, lanes.width)), 0, column, lanes);
        k.store(d, k.result(0), at, lanes);
        return {};
      });
      k.synchronize();
      auto guarded = scf::IfOp::create(k.builder, k.loc, inside, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(k.builder);
      k.builder.setInsertionPointToStart(guarded.thenBlock());
      Value d = k.mulF(k.subF(own, k.constant(1)), dloss);
      k.storeScalar(d, k.result(0), k.add(base, word));
    });
  }
};

// sum over this rank's words of exp(x - max), max being that of all ranks' words, so that their
// sums add up.
struct SumExpKernel : KernelOpInterface::ExternalModel<SumExpKernel, SumExpOp> {
  int64_t getKernelRange(Operation *op) const { return RowShape::of(op->getOperand(0)).range(); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    Words words(op, k);
    RowShape shape = words.shape;
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value max = k.loadScalar(k.operand(1), row);
      Value sum = words.sumExp(k.operand(0), k.mul(row, shape.columns), max);
      k.storeScalar(sum, k.result(0), row);
    });
  }
};

// x[row, target], or 0 where another rank has the target. One element per row, so a unit is 1024
// rows.
struct PickKernel : KernelOpInterface::ExternalModel<PickKernel, PickOp> {
  static RowShape rowsOnly(Operation *op) { return {RowShape::of(op->getOperand(0)).rows, 1}; }
  int64_t getKernelRange(Operation *op) const { return rowsOnly(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOnly(op).unit(/*combines=*/false); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    Words words(op, k);
    RowShape units = rowsOnly(op);
    k.forEachRow(units, {1, 1}, [&](Value row) {
      auto [word, inside] = words.target(k.operand(1), row);
      Value base = k.mul(row, words.shape.columns);
      k.storeScalar(words.pick(k.operand(0), base, word, inside), k.result(0), row);
    });
  }
};

} // namespace

void dtc::attachCrossEntropyKernels(MLIRContext *context) {
  CrossEntropyOp::attachInterface<CrossEntropyKernel>(*context);
  CrossEntropyGradOp::attachInterface<CrossEntropyGradKernel>(*context);
  SumExpOp::attachInterface<SumExpKernel>(*context);
  PickOp::attachInterface<PickKernel>(*context);
}

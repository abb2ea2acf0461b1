// Kernels of cross_entropy, of its gradient and of the partial ops into which both split if the
// vocabulary is divided over ranks.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
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

// The vocabulary entries of a row that this rank holds.
class Words {
public:
  Words(Operation *op, KernelBuilder &k) : k(k), shape(RowShape::of(op->getOperand(0))) {
    unsigned loop = cast<RankedTensorType>(op->getOperand(0).getType()).getRank() - 1;
    window = KernelBuilder::findWindow(getWindows(op), loop, shape.columns);
    if (window)
      limit = k.validSize(window);
  }

  // Returns `value` in the lanes of real vocabulary entries, `neutral` in padding and past the end
  // of the row.
  Value keep(Value value, double neutral, Value column, const Lanes &lanes) const {
    value = k.keep(value, neutral, lanes);
    return window ? k.keepBelow(value, neutral, column, limit) : value;
  }

  // Returns the sum over vocabulary entries of exp(x - subtracted).
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

  // Returns the target of `row` as a column of this rank, and an i1 that tells if this rank has it.
  std::pair<Value, Value> target(Value targets, Value row) const {
    Value word = k.loadIndex(targets, row);
    if (window)
      word = k.localOf(window, word);
    // Compares as unsigned numbers: entries before the first one of this rank wrap to large values.
    Value inside = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ult, word,
                                         k.index(shape.columns));
    if (window) {
      Value real = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::slt, word, limit);
      inside = arith::AndIOp::create(k.builder, k.loc, inside, real);
    }
    return {word, inside};
  }

  // Returns 0 for a row whose target is ignored, else `value`.
  Value unlessIgnored(Value value, std::optional<int64_t> ignoring, Value targets,
                      Value row) const {
    if (!ignoring)
      return value;
    Value ignored = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq,
                                          k.loadIndex(targets, row), k.index(*ignoring));
    return k.select(ignored, k.constant(0), value);
  }

  // Returns x[row, target], or 0 for a target that another rank has.
  Value pick(Value x, Value base, Value word, Value inside) const {
    // Keeps the load within the row even if its value is not used.
    Value at = k.add(base, k.select(inside, word, k.index(0)));
    return k.select(inside, k.loadScalar(x, at), k.constant(0));
  }

  KernelBuilder &k;
  RowShape shape;

private:
  WindowAttr window;
  Value limit;
};

// Computes lse = max + log(sum(exp(x - max))) and loss = lse - x[target], 0 for an ignored target.
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

// Computes d = exp(x - lse) * dloss, less dloss at the target; 0 for padding and ignored targets. A
// scalar store at the end overwrites the target's element: a comparison in each lane would cost
// every entry for the sake of one.
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
      // Reads the element before the row may be overwritten.
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

// Computes the sum over this rank's entries of exp(x - max), with the maximum over all ranks, so
// that the sums of the ranks add up.
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

// Returns x[row, target], or 0 if another rank has the target. A unit is 1024 rows, since each row
// has one element.
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

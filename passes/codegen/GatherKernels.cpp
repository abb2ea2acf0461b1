// Kernels of ops that read or write at indices, and of selection by size: gather, scatter_add,
// top_k.
#include "dialects/graph/GatherOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/DimShape.h"
#include "passes/codegen/KernelModels.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

// Conditions and integers for kernels that choose by index.
struct Choices {
  KernelBuilder &k;

  Value isF(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(k.builder, k.loc, predicate, a, b);
  }
  Value isI(arith::CmpIPredicate predicate, Value a, Value b) const {
    return arith::CmpIOp::create(k.builder, k.loc, predicate, a, b);
  }
  Value both(Value a, Value b) const { return arith::AndIOp::create(k.builder, k.loc, a, b); }
  Value either(Value a, Value b) const { return arith::OrIOp::create(k.builder, k.loc, a, b); }

  // Loads an index below `size`; an index outside of [0, size) becomes `size`.
  Value loadIndex(Value buffer, Value at, int64_t size) const {
    if (!isa<FloatType>(cast<MemRefType>(buffer.getType()).getElementType())) {
      Value given = k.loadIndex(buffer, at);
      return k.select(isI(arith::CmpIPredicate::ult, given, k.index(size)), given, k.index(size));
    }
    // The comparisons fail for NaN, and what they let pass fits an integer.
    Value given = k.loadScalar(buffer, at);
    Value inside =
        both(isF(arith::CmpFPredicate::OGE, given, k.constant(0)),
             isF(arith::CmpFPredicate::OLT, given, k.constant(static_cast<double>(size))));
    Value safe = k.select(inside, given, k.constant(0));
    Value whole = arith::FPToSIOp::create(k.builder, k.loc, k.builder.getI64Type(), safe);
    whole = arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), whole);
    return k.select(inside, whole, k.index(size));
  }
  // Stores a whole number as f32.
  void storeIndex(Value index, Value buffer, Value at) const {
    Value whole = arith::IndexCastOp::create(k.builder, k.loc, k.builder.getI64Type(), index);
    k.storeScalar(arith::SIToFPOp::create(k.builder, k.loc, k.builder.getF32Type(), whole), buffer,
                  at);
  }
  void when(Value condition, llvm::function_ref<void()> body) const {
    auto guarded = scf::IfOp::create(k.builder, k.loc, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(k.builder);
    k.builder.setInsertionPointToStart(guarded.thenBlock());
    body();
  }
};

bool isShared(Value index, Value like) {
  return cast<RankedTensorType>(index.getType()).getRank() !=
         cast<RankedTensorType>(like.getType()).getRank();
}

// Computes one element of the result per row, which is one thread of a GPU.
struct GatherKernel : KernelOpInterface::ExternalModel<GatherKernel, GatherOp> {
  static RowShape rowsOf(Operation *op) {
    return {cast<RankedTensorType>(op->getResult(0).getType()).getNumElements(), 1};
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto gather = cast<GatherOp>(op);
    int64_t dim = static_cast<int64_t>(gather.getDim());
    DimShape from(gather.getX(), dim), to(gather.getResult(), dim);
    bool shared = isShared(gather.getIndex(), gather.getX());
    Choices c{k};
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value at) {
      Value column = k.rem(at, to.columns), line = k.div(at, to.columns);
      Value row = k.div(line, to.size);
      Value index = c.loadIndex(k.operand(1), shared ? k.rem(line, to.size) : at, from.size);
      Value isInside = c.isI(arith::CmpIPredicate::ult, index, k.index(from.size));
      // Reads element 0 where the index is outside.
      Value safe = k.select(isInside, index, k.index(0));
      Value source = k.add(k.mul(k.add(k.mul(row, from.size), safe), from.columns), column);
      Value x = k.loadScalar(k.operand(0), source);
      k.storeScalar(k.select(isInside, x, k.constant(0)), k.result(0), at);
    });
  }
};

// The lines of a tensor along a dim, each computed by one thread, in order.
RowShape linesOf(const DimShape &shape) { return {shape.lines(), 1}; }
KernelUnit unitOf(const DimShape &shape) {
  KernelUnit unit = linesOf(shape).unit(/*combines=*/true);
  return {unit.points * shape.size, unit.combines};
}

// The positions of the elements of a line.
struct Line {
  Value row, column;

  Line(KernelBuilder &k, Value line, const DimShape &shape)
      : row(k.div(line, shape.columns)), column(k.rem(line, shape.columns)) {}
  Value at(KernelBuilder &k, Value i, const DimShape &shape) const {
    return k.add(k.mul(k.add(k.mul(row, shape.size), i), shape.columns), column);
  }
};

// Fills a line of the result with zeros and adds the elements to it one after the other, so that
// the sums do not depend on threads.
struct ScatterAddKernel : KernelOpInterface::ExternalModel<ScatterAddKernel, ScatterAddOp> {
  static DimShape resultOf(Operation *op) {
    auto scatter = cast<ScatterAddOp>(op);
    return {scatter.getResult(), static_cast<int64_t>(scatter.getDim())};
  }
  // A single line has an empty one beside it: on a GPU all threads of a block would share a line
  // alone, and read what one of them writes.
  static RowShape rowsOf(Operation *op) { return {std::max<int64_t>(2, resultOf(op).lines()), 1}; }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return unitOf(resultOf(op)); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto scatter = cast<ScatterAddOp>(op);
    DimShape from(scatter.getU(), static_cast<int64_t>(scatter.getDim())), to = resultOf(op);
    bool shared = isShared(scatter.getIndex(), scatter.getU());
    if (!k.result(0))
      return;
    Choices c{k};
    auto emitLine = [&](Value number) {
      Line line(k, number, to);
      k.forEach(k.index(0), k.index(to.size),
                [&](Value j) { k.storeScalar(k.constant(0), k.result(0), line.at(k, j, to)); });
      k.forEach(k.index(0), k.index(from.size), [&](Value i) {
        Value at = line.at(k, i, from);
        Value index = c.loadIndex(k.operand(1), shared ? i : at, to.size);
        c.when(c.isI(arith::CmpIPredicate::ult, index, k.index(to.size)), [&] {
          Value sum = line.at(k, index, to);
          Value u = k.loadScalar(k.operand(0), at);
          k.storeScalar(k.addF(k.loadScalar(k.result(0), sum), u), k.result(0), sum);
        });
      });
    };
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value number) {
      if (to.lines() > 1)
        return emitLine(number);
      c.when(c.isI(arith::CmpIPredicate::eq, number, k.index(0)), [&] { emitLine(number); });
    });
  }
};

// Finds the elements of a line in order, each by a pass over the line that takes the first one
// behind the one before.
struct TopKKernel : KernelOpInterface::ExternalModel<TopKKernel, TopKOp> {
  static DimShape shapeOf(Operation *op) {
    auto top = cast<TopKOp>(op);
    return {top.getX(), static_cast<int64_t>(top.getDim())};
  }
  int64_t getKernelRange(Operation *op) const { return linesOf(shapeOf(op)).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return unitOf(shapeOf(op)); }

  // Returns whether x at i comes before y at j in the order of the results.
  static Value isBefore(const Choices &c, bool smallest, Value x, Value i, Value y, Value j) {
    Value a = smallest ? y : x, b = smallest ? x : y;
    auto isNan = [&](Value v) { return c.isF(arith::CmpFPredicate::UNO, v, v); };
    Value isLarger = c.either(c.isF(arith::CmpFPredicate::OGT, a, b),
                              c.both(isNan(a), c.isF(arith::CmpFPredicate::ORD, b, b)));
    Value isEqual = c.either(c.isF(arith::CmpFPredicate::OEQ, a, b), c.both(isNan(a), isNan(b)));
    return c.either(isLarger, c.both(isEqual, c.isI(arith::CmpIPredicate::slt, i, j)));
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto top = cast<TopKOp>(op);
    bool smallest = top.getSmallest();
    DimShape from = shapeOf(op), to(top.getValues(), static_cast<int64_t>(top.getDim()));
    Choices c{k};
    Value none = k.index(-1);
    k.forEachRow(linesOf(from), {1, 1}, [&](Value number) {
      Line line(k, number, from);
      Values start = {k.constant(0), none};
      k.forLoop(k.index(0), k.index(to.size), 1, start, [&](Value j, ValueRange last) -> Values {
        Values found = k.forLoop(
            k.index(0), k.index(from.size), 1, start, [&](Value i, ValueRange best) -> Values {
              Value x = k.loadScalar(k.operand(0), line.at(k, i, from));
              Value isLeft = c.either(c.isI(arith::CmpIPredicate::eq, last[1], none),
                                      isBefore(c, smallest, last[0], last[1], x, i));
              Value isBetter = c.either(c.isI(arith::CmpIPredicate::eq, best[1], none),
                                        isBefore(c, smallest, x, i, best[0], best[1]));
              Value takes = c.both(isLeft, isBetter);
              return {k.select(takes, x, best[0]), k.select(takes, i, best[1])};
            });
        Value at = line.at(k, j, to);
        k.storeScalar(found[0], k.result(0), at);
        if (k.result(1))
          c.storeIndex(found[1], k.result(1), at);
        return found;
      });
    });
  }
};

} // namespace

void dtc::attachGatherKernels(MLIRContext *context) {
  GatherOp::attachInterface<GatherKernel>(*context);
  ScatterAddOp::attachInterface<ScatterAddKernel>(*context);
  TopKOp::attachInterface<TopKKernel>(*context);
}

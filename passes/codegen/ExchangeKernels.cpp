// Kernels of rows of experts that are on several ranks: the rows of a round, the order of the rows
// of blocks, and copies into that order and back.
#include "passes/codegen/ExchangeKernels.h"

#include "dialects/graph/ExchangeOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/codegen/IndexStore.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value compare(KernelBuilder &k, arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(k.builder, k.loc, predicate, a, b);
}

// Numbers the row of each choice within its round.
struct RoundRowsKernel : KernelOpInterface::ExternalModel<RoundRowsKernel, RoundRowsOp> {
  static RowShape rowsOf(Operation *op) { return {typeOf(op->getResult(0)).getNumElements(), 1}; }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto roundRows = cast<RoundRowsOp>(op);
    ArrayRef<int64_t> shape = roundRows.getType().getShape();
    int64_t choices = shape[1] * shape[2];
    auto room = static_cast<int64_t>(roundRows.getRoom());
    int64_t first = static_cast<int64_t>(roundRows.getRound()) * room;
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value choice) {
      Value row = k.loadIndex(k.operand(0), choice);
      Value block = k.div(row, choices), inRound = k.sub(k.rem(row, choices), k.index(first));
      Value isThere = arith::AndIOp::create(
          k.builder, k.loc, compare(k, arith::CmpIPredicate::sge, inRound, k.index(0)),
          compare(k, arith::CmpIPredicate::slt, inRound, k.index(room)));
      Value now = k.select(isThere, k.add(k.mul(block, room), inRound), k.index(-1));
      IndexStore::emit(k, now, k.result(0), choice);
    });
  }
};

// One unit for each count adds up those of the experts before it in the block.
struct RoundCountsKernel : KernelOpInterface::ExternalModel<RoundCountsKernel, RoundCountsOp> {
  static RowShape rowsOf(Operation *op) { return {typeOf(op->getResult(0)).getNumElements(), 1}; }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto roundCounts = cast<RoundCountsOp>(op);
    auto room = static_cast<int64_t>(roundCounts.getRoom());
    int64_t first = static_cast<int64_t>(roundCounts.getRound()) * room;
    auto ofRank = static_cast<int64_t>(roundCounts.getExperts());
    // The rows of the round among the first `end` of a block.
    auto among = [&](Value end) {
      Value some = compare(k, arith::CmpIPredicate::sgt, end, k.index(first));
      return k.select(some, k.min(k.sub(end, k.index(first)), k.index(room)), k.index(0));
    };
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value at) {
      // The counts of a block are neighbours, and begin at a multiple of their number.
      Value begin = k.sub(at, k.rem(at, ofRank));
      Value before = k.forLoop(begin, at, 1, k.index(0), [&](Value i, ValueRange sum) -> Values {
                        return {k.add(sum[0], k.loadIndex(k.operand(0), i))};
                      }).front();
      Value end = k.add(before, k.loadIndex(k.operand(0), at));
      IndexStore::emit(k, k.sub(among(end), among(before)), k.result(0), at);
    });
  }
};

// One unit for each block goes over the counts: rows of an expert begin behind those of the experts
// before it, and behind those of the same expert in the samples before.
struct PlaceBlocksKernel : KernelOpInterface::ExternalModel<PlaceBlocksKernel, PlaceBlocksOp> {
  static RowShape rowsOf(Operation *op) {
    auto placeOp = cast<PlaceBlocksOp>(op);
    RowShape shape = RowShape::of(placeOp.getResult());
    shape.columns = std::max(shape.columns, typeOf(placeOp.getCounts()).getNumElements());
    return shape;
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/true); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto placeOp = cast<PlaceBlocksOp>(op);
    ArrayRef<int64_t> shape = placeOp.getType().getShape();
    int64_t ranks = shape[0], samples = shape[1], rows = shape[2];
    int64_t experts = typeOf(placeOp.getCounts()).getDimSize(1), ofRank = experts / ranks;
    auto countOf = [&](Value sample, Value expert) {
      return k.loadIndex(k.operand(0), k.add(k.mul(sample, experts), expert));
    };
    // Adds up the counts of experts [first, end) and samples [0, end) of each.
    auto sum = [&](Value first, Value end, Value endOfSamples) {
      return k
          .forLoop(first, end, 1, k.index(0),
                   [&](Value e, ValueRange now) {
                     return k.forLoop(k.index(0), endOfSamples, 1, now[0],
                                      [&](Value b, ValueRange sum) -> Values {
                                        return {k.add(sum[0], countOf(b, e))};
                                      });
                   })
          .front();
    };
    k.forEachRow(rowsOf(op), {1, 1}, [&](Value block) {
      Value rank = k.div(block, samples), sample = k.rem(block, samples);
      Value low = k.mul(rank, ofRank), high = k.add(low, ofRank), all = k.index(samples);
      Value before = sum(k.index(0), low, all), base = k.mul(block, rows);
      Values ends =
          k.forLoop(low, high, 1, {before, k.index(0)}, [&](Value e, ValueRange now) -> Values {
            Value start = k.add(now[0], sum(e, k.add(e, 1), sample)), count = countOf(sample, e);
            k.forEach(k.index(0), count, [&](Value j) {
              IndexStore::emit(k, k.add(start, j), k.result(0), k.add(base, k.add(now[1], j)));
            });
            return {k.add(now[0], sum(e, k.add(e, 1), all)), k.add(now[1], count)};
          });
      // Rows of earlier blocks that are not there count first.
      Value there = k.add(before, sum(low, high, sample));
      Value next = k.add(sum(k.index(0), k.index(experts), all), k.sub(base, there));
      k.forEach(ends[1], k.index(rows), [&](Value j) {
        Value number = k.add(next, k.sub(j, ends[1]));
        IndexStore::emit(k, k.sub(k.index(-1), number), k.result(0), k.add(base, j));
      });
    });
  }
};

// Copies a row of blocks, or zeros, to each row of the result.
struct SortRowsKernel : KernelOpInterface::ExternalModel<SortRowsKernel, SortRowsOp> {
  static RowShape rowsOf(Operation *op) { return RowShape::of(op->getResult(0)); }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/false); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto sort = cast<SortRowsOp>(op);
    RowShape shape = rowsOf(op);
    int64_t numIndices = typeOf(sort.getRowOf()).getNumElements();
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value isOfBlocks = compare(k, arith::CmpIPredicate::slt, row, k.index(numIndices));
      Value from = k.select(isOfBlocks, row, k.index(0));
      Value rowIndex = k.loadIndex(k.operand(1), from);
      Value isThere = compare(k, arith::CmpIPredicate::sge, rowIndex, k.index(0));
      Value to = k.select(isThere, rowIndex, k.sub(k.index(-1), rowIndex));
      to = k.mul(k.select(isOfBlocks, to, row), shape.columns);
      Value copies = arith::AndIOp::create(k.builder, k.loc, isOfBlocks, isThere);
      from = k.mul(from, shape.columns);
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value x = k.load(k.operand(0), k.add(from, column), lanes);
        k.store(k.select(copies, x, k.splat(0, lanes.width)), k.result(0), k.add(to, column),
                lanes);
        return {};
      });
    });
  }
};

struct UnsortRowsKernel : KernelOpInterface::ExternalModel<UnsortRowsKernel, UnsortRowsOp> {
  static RowShape rowsOf(Operation *op) { return RowShape::of(op->getResult(0)); }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(/*combines=*/false); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowShape shape = rowsOf(op);
    k.forEachRow(shape, {1, shape.columns}, [&](Value row) {
      Value rowIndex = k.loadIndex(k.operand(1), row);
      Value isThere = compare(k, arith::CmpIPredicate::sge, rowIndex, k.index(0));
      Value from = k.mul(k.select(isThere, rowIndex, k.index(0)), shape.columns);
      Value to = k.mul(row, shape.columns);
      k.forEachVector(shape.columns, {}, [&](Value column, Lanes lanes, ValueRange) -> Values {
        Value x = k.load(k.operand(0), k.add(from, column), lanes);
        k.store(k.select(isThere, x, k.splat(0, lanes.width)), k.result(0), k.add(to, column),
                lanes);
        return {};
      });
    });
  }
};

} // namespace

void dtc::attachExchangeKernels(MLIRContext *context) {
  RoundRowsOp::attachInterface<RoundRowsKernel>(*context);
  RoundCountsOp::attachInterface<RoundCountsKernel>(*context);
  PlaceBlocksOp::attachInterface<PlaceBlocksKernel>(*context);
  SortRowsOp::attachInterface<SortRowsKernel>(*context);
  UnsortRowsOp::attachInterface<UnsortRowsKernel>(*context);
}

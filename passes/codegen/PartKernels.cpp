// Kernels of sums in two steps: partial sums, then the sum of those.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/PartOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/codegen/KernelModels.h"
#include "passes/codegen/SumParts.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;
using Values = KernelBuilder::Values;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Adds up the squares of chunks of several tensors. The number of the unit selects a tensor and a
// range of its runs, so that one loop serves all tensors. The last chunk of a tensor also adds up
// the elements that fill no whole run.
class ChunkSquares {
public:
  ChunkSquares(ChunkSquaresOp op, KernelBuilder &k) : k(k) {
    for (auto [tensor, chunks] : llvm::zip_equal(op.getTensors(), op.getChunks()))
      tensors.push_back({typeOf(tensor).getNumElements(), chunks});
  }

  // Returns the extent of a unit; its runs are divided over warps.
  static Extent extentOf(ChunkSquaresOp op) {
    int64_t runs = 2;
    for (auto [tensor, chunks] : llvm::zip_equal(op.getTensors(), op.getChunks()))
      runs = std::max(runs, ChunkedSum(typeOf(tensor).getNumElements(), chunks).runsOfChunk());
    return {std::min(runs, ChunkedSum::runsAtOnce), ChunkedSum::run};
  }

  void emit(Extent extent) {
    k.forEachUnit(extent, [&](Value unit) {
      Work work = choose(unit);
      Values total = {k.constant(0)};
      total = k.combineParts(k.sub(work.end, work.begin), KernelBuilder::Combining::Sum, total,
                             /*atOnce=*/1, [&](Value run, ValueRange now) -> Values {
                               Value base = k.mul(k.add(work.begin, run), ChunkedSum::run);
                               return {addRun(work.buffer, base, ChunkedSum::run, now[0])};
                             });
      int64_t units = 0;
      for (auto [i, tensor] : llvm::enumerate(tensors)) {
        if (tensor.rest() > 0)
          total = addRest(i, unit, units + tensor.wholeRuns() / tensor.runsOfChunk(), total);
        units += tensor.chunks;
      }
      k.storeScalar(total[0], k.result(0), unit);
    });
  }

private:
  struct Work {
    Value buffer;     // of dynamic size
    Value begin, end; // runs [begin, end), whole ones
  };

  // Selects the tensor and the runs of a unit. Units past the last tensor get an empty range.
  Work choose(Value unit) {
    Work work = workOf(0, unit, 0);
    int64_t units = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (i > 0)
        work = select(isBelow(unit, units), work, workOf(i, unit, units));
      units += tensors[i].chunks;
    }
    return work;
  }

  Work workOf(size_t i, Value unit, int64_t firstUnit) {
    const ChunkedSum &tensor = tensors[i];
    Value begin = k.mul(k.sub(unit, k.index(firstUnit)), tensor.runsOfChunk());
    Value end = k.min(k.add(begin, tensor.runsOfChunk()), k.index(tensor.wholeRuns()));
    Value buffer = k.operand(i);
    auto any = MemRefType::get({ShapedType::kDynamic},
                               cast<MemRefType>(buffer.getType()).getElementType());
    return {memref::CastOp::create(k.builder, k.loc, any, buffer), begin, end};
  }

  Work select(Value condition, const Work &a, const Work &b) {
    return {k.select(condition, a.buffer, b.buffer), k.select(condition, a.begin, b.begin),
            k.select(condition, a.end, b.end)};
  }

  Value isBelow(Value unit, int64_t end) {
    return arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ult, unit, k.index(end));
  }

  Values addRest(size_t i, Value unit, int64_t ofUnit, ValueRange total) {
    const ChunkedSum &tensor = tensors[i];
    Value isIt =
        arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, unit, k.index(ofUnit));
    Value times = k.select(isIt, k.index(1), k.index(0));
    return k.forLoop(k.index(0), times, 1, total, [&](Value, ValueRange now) -> Values {
      Value base = k.index(tensor.wholeRuns() * ChunkedSum::run);
      return {addRun(k.operand(i), base, tensor.rest(), now[0])};
    });
  }

  Value addRun(Value buffer, Value base, int64_t size, Value total) {
    Values sums = k.forEachVector(size, k.splat(0, k.laneCount(size)),
                                  [&](Value at, Lanes lanes, ValueRange now) -> Values {
                                    Value x = k.load(buffer, k.add(base, at), lanes);
                                    return {k.fma(x, x, now[0])};
                                  });
    return k.addF(total, k.sum(sums[0]));
  }

  KernelBuilder &k;
  SmallVector<ChunkedSum> tensors;
};

struct ChunkSquaresKernel : KernelOpInterface::ExternalModel<ChunkSquaresKernel, ChunkSquaresOp> {
  int64_t getKernelRange(Operation *op) const { return typeOf(op->getResult(0)).getDimSize(0); }
  KernelUnit getKernelUnit(Operation *op) const {
    return {ChunkSquares::extentOf(cast<ChunkSquaresOp>(op)).points(), /*combines=*/true};
  }
  void emitKernel(Operation *op, KernelBuilder &k) const {
    auto squares = cast<ChunkSquaresOp>(op);
    ChunkSquares(squares, k).emit(ChunkSquares::extentOf(squares));
  }
};

// Adds up the partial sums in one block: one number stands for thousands of elements.
struct SumChunksKernel : KernelOpInterface::ExternalModel<SumChunksKernel, SumChunksOp> {
  int64_t getKernelRange(Operation *) const { return 1; }
  KernelUnit getKernelUnit(Operation *op) const {
    int64_t points = 0;
    for (Value sums : op->getOperands())
      points += typeOf(sums).getDimSize(0);
    return {points, /*combines=*/true};
  }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    int64_t longest = 0;
    for (Value sums : op->getOperands())
      longest = std::max(longest, typeOf(sums).getDimSize(0));
    k.forEachUnit({1, longest}, [&](Value unit) {
      Value total = k.constant(0);
      // Adds up vectors of the same width lane by lane.
      Values lanes;
      auto finish = [&] {
        if (!lanes.empty())
          total = k.addF(total, k.sum(lanes[0]));
      };
      int64_t width = 0;
      for (auto [i, sums] : llvm::enumerate(op->getOperands())) {
        int64_t size = typeOf(sums).getDimSize(0);
        if (k.laneCount(size) != width) {
          finish();
          width = k.laneCount(size);
          lanes = {k.splat(0, width)};
        }
        lanes = k.forEachVector(size, lanes,
                                [&, i = i](Value at, Lanes which, ValueRange now) -> Values {
                                  return {k.addF(now[0], k.load(k.operand(i), at, which))};
                                });
      }
      finish();
      k.storeScalar(total, k.result(0), unit);
    });
  }
};

// The columns of a unit that adds up parts: one cache line.
constexpr int64_t partColumns = 32;

struct RowPartSumsKernel : KernelOpInterface::ExternalModel<RowPartSumsKernel, RowPartSumsOp> {
  static RowParts rowsOf(Operation *op) {
    RankedTensorType parts = typeOf(op->getResult(0));
    int64_t columns = parts.getNumElements() / parts.getDimSize(0);
    int64_t elements = typeOf(op->getOperand(0)).getNumElements();
    return {columns > 0 ? elements / columns : 0, columns, parts.getDimSize(0)};
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(rowSumColumns); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(rowSumColumns); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowParts rows = rowsOf(op);
    rows.forEachUnit(k, rowSumColumns, [&](Value part, Value column, Lanes lanes, auto sumRows) {
      Values sums = sumRows(k.splat(0, lanes.width), [&](Value row, ValueRange now) -> Values {
        Value at = k.add(k.mul(row, rows.columns), column);
        return {k.addF(now[0], k.load(k.operand(0), at, lanes))};
      });
      k.store(sums[0], k.result(0), k.add(k.mul(part, rows.columns), column), lanes);
    });
  }
};

struct SumPartsKernel : KernelOpInterface::ExternalModel<SumPartsKernel, SumPartsOp> {
  static RowParts rowsOf(Operation *op) {
    RankedTensorType parts = typeOf(op->getOperand(0));
    return {parts.getDimSize(0),
            parts.getNumElements() / std::max<int64_t>(1, parts.getDimSize(0))};
  }
  int64_t getKernelRange(Operation *op) const { return rowsOf(op).range(partColumns); }
  KernelUnit getKernelUnit(Operation *op) const { return rowsOf(op).unit(partColumns); }

  void emitKernel(Operation *op, KernelBuilder &k) const {
    RowParts rows = rowsOf(op);
    double scale = cast<SumPartsOp>(op).getScale().convertToDouble();
    unsigned count = op->getNumOperands();
    rows.forEachUnit(k, partColumns, [&](Value, Value column, Lanes lanes, auto sumRows) {
      Values zeros(count, k.splat(0, lanes.width));
      Values sums = sumRows(zeros, [&](Value row, ValueRange now) {
        Value at = k.add(k.mul(row, rows.columns), column);
        Values next;
        for (unsigned i = 0; i < count; ++i)
          next.push_back(k.addF(now[i], k.load(k.operand(i), at, lanes)));
        return next;
      });
      for (auto [i, sum] : llvm::enumerate(sums)) {
        if (scale != 1)
          sum = k.mulF(sum, k.splat(scale, lanes.width));
        k.store(sum, k.result(i), column, lanes);
      }
    });
  }
};

} // namespace

void dtc::attachPartKernels(MLIRContext *context) {
  ChunkSquaresOp::attachInterface<ChunkSquaresKernel>(*context);
  SumChunksOp::attachInterface<SumChunksKernel>(*context);
  RowPartSumsOp::attachInterface<RowPartSumsKernel>(*context);
  SumPartsOp::attachInterface<SumPartsKernel>(*context);
}

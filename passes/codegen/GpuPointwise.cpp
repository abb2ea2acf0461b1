// Turns the linalg.generic of a pointwise kernel into GPU code in which each thread has vectors of
// the block's unit.
#include "passes/codegen/GpuPointwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/GpuKernels.h"
#include "passes/codegen/MergedKernels.h"
#include "passes/codegen/PointwiseBody.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace dtc;

namespace {

// Threads of a block if each thread has one vector, and if each has several.
constexpr int64_t manyThreads = 256, mostThreads = 512;
constexpr int64_t threadVectors = 4;

// Splits the points of a unit into vectors and assigns them to threads in turn, so that a warp
// reads neighbours.
class BlockPoints {
public:
  // `isPiece`: the points are a line whose length is only known at run time.
  BlockPoints(PointwiseBody &body, GpuKernelBuilder &k, bool isPiece)
      : body(body), k(k), split(body.getSplit()), width(k.laneCount(isPiece ? 0 : vectorSize())),
        vectors(split.numColumns / width) {}

  LogicalResult emit(Value unit) {
    k.setThreads({chooseThreads(), 1, 1});
    if (failed(body.beginKernel()))
      return failure();
    if (split.range() == 0)
      return success();
    if (split.unitsPerRow > 1)
      emitColumns(unit);
    else if (split.rowsPerUnit == 1)
      emitRow(unit);
    else
      emitRows(unit);
    if (int64_t rest = split.numColumns % width)
      emitRest(unit, rest);
    return success();
  }

  // Emits block `block` of a line of `size` points; the last block also does the points that fill
  // no whole vector.
  LogicalResult emitPiece(Value block, Value size) {
    k.setThreads({mergedThreads, 1, 1});
    if (failed(body.beginKernel()))
      return failure();
    body.beginRow(k.index(0));
    constexpr int64_t most = mergedPoints;
    Value whole = k.div(size, width);
    Value first = k.mul(block, most / width);
    Value last = k.min(k.add(first, most / width), whole);
    forEachVector(first, last, most / width,
                  [&](Value at) { body.emitVector(k.mul(at, width), {width}); });
    if (width == 1)
      return success();
    Value thread = k.threads().thread();
    Value rest = k.add(k.mul(whole, width), thread);
    // Selects the last block: the one that has no whole number of vectors.
    Value hasRest = k.isBelow(size, k.mul(k.add(block, 1), most));
    k.when(arith::AndIOp::create(k.builder, k.loc, hasRest, k.isBelow(rest, size)),
           [&] { body.emitVector(rest, {1}); });
    return success();
  }

private:
  // Returns a number that the vector width must divide, so that no vector crosses a row and each
  // begins at a whole vector of every buffer; 0 if any width is possible. Only a single long row
  // may have a rest, which threads do element by element.
  int64_t vectorSize() const {
    if (!body.isContiguous())
      return 1;
    if (split.numRows == 1)
      return split.numColumns < 16 ? split.numColumns : 0;
    int64_t size = split.numColumns;
    const PointwiseLoops &loops = body.getLoops();
    for (unsigned i = 0; i < loops.strides.size(); ++i)
      if (body.movesWithColumns(i))
        for (int64_t stride : ArrayRef(loops.strides[i]).drop_back())
          size = std::gcd(size, stride);
    return size;
  }

  int64_t chooseThreads() const {
    int64_t points = split.unitsPerRow > 1
                         ? split.columnsPerUnit
                         : std::min(split.rowsPerUnit, split.numRows) * split.numColumns;
    int64_t count = llvm::divideCeilSigned(points, k.alignedLanes(vectorSize()));
    int64_t threads =
        std::max(std::min(count, manyThreads), llvm::divideCeilSigned(count, threadVectors));
    threads = std::clamp<int64_t>(threads, 1, mostThreads);
    return llvm::divideCeilSigned(threads, warpThreads) * warpThreads;
  }

  // Calls `emit` for begin, begin + 1, ... below `end`, at most `most` of them, one per thread in
  // turn.
  void forEachVector(Value begin, Value end, int64_t most, llvm::function_ref<void(Value)> emit) {
    int64_t threads = k.blockThreads();
    Value first = k.add(begin, k.threads().thread());
    if (most <= threads)
      return k.when(k.isBelow(first, end), [&] { emit(first); });
    k.forLoop(first, end, threads, {}, [&](Value at, ValueRange) {
      emit(at);
      return KernelBuilder::Values();
    });
  }

  void emitRow(Value row) {
    body.beginRow(row);
    forEachVector(k.index(0), k.index(vectors), vectors,
                  [&](Value at) { body.emitVector(k.mul(at, width), {width}); });
  }

  void emitRows(Value unit) {
    Value first = k.mul(unit, split.rowsPerUnit);
    Value last = k.min(k.add(first, split.rowsPerUnit), k.index(split.numRows));
    forEachVector(k.mul(first, vectors), k.mul(last, vectors),
                  std::min(split.rowsPerUnit, split.numRows) * vectors, [&](Value at) {
                    body.beginRow(k.div(at, vectors));
                    body.emitVector(k.mul(k.rem(at, vectors), width), {width});
                  });
  }

  void emitColumns(Value unit) {
    bool isOneRow = split.numRows == 1;
    body.beginRow(isOneRow ? k.index(0) : k.div(unit, split.unitsPerRow));
    int64_t most = split.columnsPerUnit / width;
    Value first = k.mul(isOneRow ? unit : k.rem(unit, split.unitsPerRow), most);
    Value last = k.min(k.add(first, most), k.index(vectors));
    forEachVector(first, last, most, [&](Value at) { body.emitVector(k.mul(at, width), {width}); });
  }

  void emitRest(Value unit, int64_t rest) {
    Value thread = k.threads().thread();
    Value isLast = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, unit,
                                         k.index(split.range() - 1));
    Value has = arith::AndIOp::create(k.builder, k.loc, isLast, k.isBelow(thread, k.index(rest)));
    k.when(has, [&] {
      body.beginRow(k.index(0));
      body.emitVector(k.add(thread, split.numColumns - rest), {1});
    });
  }

  PointwiseBody &body;
  GpuKernelBuilder &k;
  UnitSplit split;
  int64_t width, vectors; // lanes of a vector; whole vectors of a row
};

LogicalResult emit(linalg::GenericOp generic) {
  auto function = generic->getParentOfType<func::FuncOp>();
  KernelBuilder::Buffers buffers;
  for (Value argument : function.getArguments())
    if (isa<MemRefType>(argument.getType()))
      buffers.operands.push_back(argument);
  OpBuilder builder(generic);
  if (function->hasAttr(mergedElementName))
    return emitGpuPiece(builder, generic.getLoc(), function, buffers, [&](GpuKernelBuilder &k) {
      PointwiseBody body(generic, k);
      return BlockPoints(body, k, /*isPiece=*/true)
          .emitPiece(k.unit(), function.getArguments().back());
    });
  return emitGpuBlock(builder, generic.getLoc(), function, buffers, [&](GpuKernelBuilder &k) {
    PointwiseBody body(generic, k);
    return BlockPoints(body, k, /*isPiece=*/false).emit(k.unit());
  });
}

} // namespace

LogicalResult dtc::emitGpuPointwise(ModuleOp module) {
  SmallVector<linalg::GenericOp> generics;
  module.walk([&](linalg::GenericOp generic) { generics.push_back(generic); });
  for (linalg::GenericOp generic : generics) {
    if (failed(emit(generic)))
      return failure();
    generic.erase();
  }
  return success();
}

// Turns the linalg.generic of a pointwise kernel into vector code of a processor, in loops over the
// units.
#include "passes/codegen/VectorizeKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/CpuKernelBuilder.h"
#include "passes/codegen/PointwiseBody.h"
#include "passes/codegen/RandomWords.h"

using namespace mlir;
using namespace dtc;

namespace {

// Emits loops over the units of a call, their rows and vectors; the last vector is masked if a row
// ends inside of it.
class GenericVectorizer {
public:
  GenericVectorizer(linalg::GenericOp generic, Value begin, Value end)
      : begin(begin), end(end), builder(generic), k(builder, generic.getLoc(), {}),
        body(generic, k), split(body.getSplit()) {}

  LogicalResult run() {
    if (failed(body.beginKernel()))
      return failure();
    width = chooseWidth();
    if (split.unitsPerRow == 1)
      emitWholeRows();
    else if (split.numRows == 1)
      emitRow(k.index(0), k.mul(begin, split.columnsPerUnit),
              k.min(k.mul(end, split.columnsPerUnit), k.index(split.numColumns)));
    else
      emitBlocks();
    return success();
  }

private:
  int64_t chooseWidth() {
    // Uses single lanes unless lanes are neighbours in memory.
    if (!body.isContiguous())
      return 1;
    // Uses fewer lanes for random numbers: ten rounds of Philox take so long that wider vectors
    // would only add code.
    return KernelBuilder::vectorWidth(split.numColumns, body.draws() ? randomLanes : 32);
  }

  // Keeps LLVM from unrolling the loop.
  void keepLoop(Operation *loop) {
    MLIRContext *context = builder.getContext();
    auto unroll =
        LLVM::LoopUnrollAttr::get(context, builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
    auto keep = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {},
                                              {}, {}, {}, {}, {});
    loop->setAttr("llvm.loop_annotation", keep);
  }

  void emitWholeRows() {
    Value first = k.mul(begin, split.rowsPerUnit);
    Value last = k.min(k.mul(end, split.rowsPerUnit), k.index(split.numRows));
    k.forEach(first, last, [&](Value row) { emitRow(row, k.index(0), k.index(split.numColumns)); });
  }

  void emitBlocks() {
    k.forEach(begin, end, [&](Value unit) {
      Value first = k.mul(k.rem(unit, split.unitsPerRow), split.columnsPerUnit);
      Value last = k.min(k.add(first, split.columnsPerUnit), k.index(split.numColumns));
      emitRow(k.div(unit, split.unitsPerRow), first, last);
    });
  }

  // Emits columns [first, last); `last` is the end of the row or a whole number of vectors from
  // `first`.
  void emitRow(Value row, Value first, Value last) {
    body.beginRow(row);
    int64_t whole = split.numColumns - split.numColumns % width;
    k.forLoop(first, k.min(last, k.index(whole)), width, {}, [&](Value column, ValueRange) {
      body.emitVector(column, {width, nullptr});
      return KernelBuilder::Values();
    });
    if (body.draws())
      keepLoop(&*std::prev(builder.getInsertionPoint()));
    int64_t rest = split.numColumns - whole;
    if (rest == 0)
      return;
    auto emitRest = [&] { body.emitVector(k.index(whole), k.firstLanes(rest)); };
    if (split.unitsPerRow == 1)
      return emitRest();
    Value isLast = arith::CmpIOp::create(builder, k.loc, arith::CmpIPredicate::eq, last,
                                         k.index(split.numColumns));
    auto guarded = scf::IfOp::create(builder, k.loc, isLast, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(guarded.thenBlock());
    emitRest();
  }

  Value begin, end;
  OpBuilder builder;
  CpuKernelBuilder k;
  PointwiseBody body;
  UnitSplit split;
  int64_t width = 1;
};

} // namespace

LogicalResult dtc::vectorizeKernels(ModuleOp module) {
  SmallVector<linalg::GenericOp> generics;
  module.walk([&](linalg::GenericOp generic) { generics.push_back(generic); });
  for (linalg::GenericOp generic : generics) {
    auto function = generic->getParentOfType<func::FuncOp>();
    unsigned numArguments = function.getNumArguments();
    Value begin = function.getArgument(numArguments - 2),
          end = function.getArgument(numArguments - 1);
    if (failed(GenericVectorizer(generic, begin, end).run()))
      return failure();
    generic.erase();
  }
  return success();
}

// Emits the beginning of every GPU kernel: it finds the unit of the block and checks the alignment
// of the buffers.
#include "passes/codegen/GpuKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace dtc;

namespace {

constexpr int64_t vectorBytes = 16;

// Returns an i1: all buffers that hold at least one vector are aligned to its size.
Value areAligned(OpBuilder &builder, Location loc, func::FuncOp function) {
  Value bits = arith::ConstantIndexOp::create(builder, loc, 0);
  for (Value argument : function.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || type.getNumElements() * type.getElementTypeBitWidth() < vectorBytes * 8)
      continue;
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, argument);
    bits = arith::OrIOp::create(builder, loc, bits, address);
  }
  Value low = arith::AndIOp::create(builder, loc, bits,
                                    arith::ConstantIndexOp::create(builder, loc, vectorBytes - 1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, low,
                               arith::ConstantIndexOp::create(builder, loc, 0));
}

using Body = llvm::function_ref<LogicalResult(GpuKernelBuilder &)>;

LogicalResult emitAsAligned(OpBuilder &builder, Location loc, func::FuncOp function,
                            const KernelBuilder::Buffers &ofBlock, Body body) {
  OpBuilder::InsertionGuard guard(builder);
  auto choice = scf::IfOp::create(builder, loc, areAligned(builder, loc, function),
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(choice.thenBlock());
  GpuKernelBuilder vectors(builder, function, loc, ofBlock, vectorBytes);
  if (failed(body(vectors)))
    return failure();
  function->setAttr(blockThreadsName, builder.getI64IntegerAttr(vectors.blockThreads()));
  if (vectors.needsAlignment()) {
    builder.setInsertionPointToStart(choice.elseBlock());
    GpuKernelBuilder elements(builder, function, loc, ofBlock, 0);
    LogicalResult emitted = body(elements);
    assert(elements.blockThreads() == vectors.blockThreads() && "both are one launch");
    return emitted;
  }
  // Drops the alternative if no code uses vectors.
  choice.thenYield()->erase();
  choice->getBlock()->getOperations().splice(choice->getIterator(),
                                             choice.thenBlock()->getOperations());
  choice.erase();
  return success();
}

} // namespace

LogicalResult dtc::emitGpuBlock(OpBuilder &builder, Location loc, func::FuncOp function,
                                const KernelBuilder::Buffers &buffers, Body body) {
  KernelBuilder::Buffers ofBlock = buffers;
  ofBlock.begin = GpuThreads(builder, loc, function, {}).block();
  ofBlock.end = nullptr;
  Value isUnit = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, ofBlock.begin,
                                       function.getArguments().back());
  auto unit = scf::IfOp::create(builder, loc, isUnit, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(unit.thenBlock());
  return emitAsAligned(builder, loc, function, ofBlock, body);
}

LogicalResult dtc::emitGpuPiece(OpBuilder &builder, Location loc, func::FuncOp function,
                                const KernelBuilder::Buffers &buffers, Body body) {
  KernelBuilder::Buffers ofBlock = buffers;
  ofBlock.begin = function.getArguments().drop_back().back();
  ofBlock.end = nullptr;
  return emitAsAligned(builder, loc, function, ofBlock, body);
}

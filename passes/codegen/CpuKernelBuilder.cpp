// Emits the loops and vectors of kernels for the processor.
#include "passes/codegen/CpuKernelBuilder.h"
#include "dialects/graph/ElementwiseOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace dtc;

void CpuKernelBuilder::forEachUnit(Extent, llvm::function_ref<void(Value)> body) {
  forEach(buffers.begin, buffers.end, body);
}

void CpuKernelBuilder::forEachRow(const RowShape &rows, Extent,
                                  llvm::function_ref<void(Value)> body) {
  forEach(mul(buffers.begin, rows.rowsPerUnit()),
          min(mul(buffers.end, rows.rowsPerUnit()), index(rows.rows)), body);
}

void CpuKernelBuilder::forEachPart(Value end, llvm::function_ref<void(Value)> body) {
  forEach(index(0), end, body);
}

KernelBuilder::Values CpuKernelBuilder::combineParts(Value end, Combining, ValueRange carried,
                                                     int64_t /*atOnce*/, LoopBody body) {
  return forLoop(index(0), end, 1, carried, body);
}

Lanes CpuKernelBuilder::firstLanes(int64_t count, int64_t width) {
  if (count == width)
    return {width, nullptr};
  auto type = VectorType::get({width}, builder.getI1Type());
  return {width, vector::ConstantMaskOp::create(builder, loc, type, ArrayRef<int64_t>{count})};
}

KernelBuilder::Values CpuKernelBuilder::forEachVector(int64_t size, ValueRange carried,
                                                      VectorBody body) {
  int64_t width = vectorWidth(size);
  int64_t whole = size - size % width;
  Values values(carried);
  if (whole == width)
    values = body(index(0), {width, nullptr}, values);
  else if (whole > 0)
    values = forLoop(index(0), index(whole), width, values, [&](Value column, ValueRange now) {
      return body(column, {width, nullptr}, now);
    });
  if (whole == size)
    return values;
  return body(index(whole), firstLanes(size - whole, width), values);
}

void CpuKernelBuilder::forEachColumnUnit(const ColumnBlocks &units,
                                         llvm::function_ref<void(Value, Value, Lanes)> body) {
  int64_t rows = units.rows, columns = units.columns;
  int64_t width = vectorWidth(columns, units.width);
  int64_t blocks = columnUnits(1, columns, width), rest = columns % width;
  forEach(buffers.begin, buffers.end, [&](Value unit) {
    Value row = rows == 1 ? index(0) : div(unit, blocks);
    Value block = rows == 1 ? unit : rem(unit, blocks);
    Value column = mul(block, width);
    if (rest == 0)
      return body(row, column, {width, nullptr});
    Value isLast =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, block, index(blocks - 1));
    auto choice = scf::IfOp::create(builder, loc, isLast, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    body(row, column, firstLanes(rest, width));
    builder.setInsertionPointToStart(choice.elseBlock());
    body(row, column, {width, nullptr});
  });
}

Value CpuKernelBuilder::loadRaw(Value buffer, Value at, const Lanes &lanes) {
  auto type = VectorType::get({lanes.width}, elementOf(buffer));
  if (!lanes.mask)
    return vector::LoadOp::create(builder, loc, type, buffer, at);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return vector::MaskedLoadOp::create(builder, loc, type, buffer, at, lanes.mask, zero);
}

void CpuKernelBuilder::storeRaw(Value vector, Value buffer, Value at, const Lanes &lanes) {
  if (lanes.mask)
    vector::MaskedStoreOp::create(builder, loc, buffer, at, lanes.mask, vector);
  else
    vector::StoreOp::create(builder, loc, vector, buffer, at);
}

void CpuKernelBuilder::storeElement(Value scalar, Value buffer, Value at) {
  memref::StoreOp::create(builder, loc, scalar, buffer, at);
}

Value CpuKernelBuilder::sum(Value vector) {
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, vector,
                                     arith::FastMathFlags::reassoc);
}

Value CpuKernelBuilder::max(Value vector) {
  int64_t width = cast<VectorType>(vector.getType()).getDimSize(0);
  while (width > 1) {
    width /= 2;
    Value low = vector::ExtractStridedSliceOp::create(
        builder, loc, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
    Value high =
        vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{width},
                                              ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
    vector = maxF(low, high);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}

// Emits the communication of the threads of a block: shuffles within a warp, shared memory between
// warps.
#include "passes/codegen/GpuThreads.h"
#include "dialects/graph/ElementwiseOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace dtc;

namespace {

constexpr int64_t sharedSpace = 3;

// True if the insertion point is inside of a loop. A detached body counts as a loop: a loop is
// inserted only once its body is complete.
bool isInLoop(OpBuilder &builder) {
  Operation *around = builder.getInsertionBlock()->getParentOp();
  while (around && !isa<scf::ForOp, func::FuncOp>(around))
    around = around->getParentOp();
  return !around || isa<scf::ForOp>(around);
}

} // namespace

Value GpuThreads::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value GpuThreads::divide(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, loc, a, constant(b)).getResult();
}

Value GpuThreads::remainder(Value a, int64_t b) {
  return arith::RemUIOp::create(builder, loc, a, constant(b));
}

Value GpuThreads::special(llvm::function_ref<Value(Type)> read) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      read(builder.getI32Type()));
}

Value GpuThreads::thread() {
  return special([&](Type type) { return NVVM::ThreadIdXOp::create(builder, loc, type); });
}
Value GpuThreads::group() { return divide(thread(), shape.group); }
Value GpuThreads::member() {
  return shape.group == shape.block ? thread() : remainder(thread(), shape.group);
}
Value GpuThreads::part() { return divide(member(), shape.lanes); }
Value GpuThreads::lane() {
  return shape.lanes == shape.block ? thread() : remainder(thread(), shape.lanes);
}

Value GpuThreads::block() {
  Value x = special([&](Type type) { return NVVM::BlockIdXOp::create(builder, loc, type); });
  Value y = special([&](Type type) { return NVVM::BlockIdYOp::create(builder, loc, type); });
  Value z = special([&](Type type) { return NVVM::BlockIdZOp::create(builder, loc, type); });
  Value sizeX = special([&](Type type) { return NVVM::GridDimXOp::create(builder, loc, type); });
  Value sizeY = special([&](Type type) { return NVVM::GridDimYOp::create(builder, loc, type); });
  Value row = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, z, sizeY), y);
  return arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, row, sizeX), x);
}

Value GpuThreads::shuffle(Value value, int64_t distance) {
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    Value result = value;
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Value element = vector::ExtractOp::create(builder, loc, value, i);
      result = vector::InsertOp::create(builder, loc, shuffle(element, distance), result, i);
    }
    return result;
  }
  auto number = [&](int64_t word) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(word)));
  };
  return NVVM::ShflOp::create(builder, loc, value.getType(), number(-1), value, number(distance),
                              number(warpThreads - 1), NVVM::ShflKind::bfly, UnitAttr());
}

// Combines over the threads of a warp whose numbers differ in the bits from `first` up to but not
// including `end`.
Value GpuThreads::butterfly(Value value, int64_t first, int64_t end, Combine combine) {
  for (int64_t distance = first; distance < end; distance *= 2)
    value = combine(value, shuffle(value, distance));
  return value;
}

Value GpuThreads::createShared(int64_t elements, Type element) {
  auto module = function->getParentOfType<ModuleOp>();
  std::string name;
  for (unsigned number = 0; name.empty() || module.lookupSymbol(name); ++number)
    name = (function.getSymName() + "_shared_" + Twine(number)).str();
  auto type = MemRefType::get({elements}, element, MemRefLayoutAttrInterface(),
                              builder.getI64IntegerAttr(sharedSpace));
  OpBuilder global(module.getBodyRegion());
  memref::GlobalOp::create(global, loc, name, builder.getStringAttr("private"), type,
                           builder.getUnitAttr(), /*constant=*/false,
                           builder.getI64IntegerAttr(16));
  return memref::GetGlobalOp::create(builder, loc, type, name);
}

void GpuThreads::synchronizeLoop() {
  if (isInLoop(builder))
    NVVM::BarrierOp::create(builder, loc);
}

Value GpuThreads::combineLanes(Value value, Combine combine) {
  value = butterfly(value, 1, std::min(shape.lanes, warpThreads), combine);
  if (shape.lanes <= warpThreads)
    return value;
  // Writes the value of each warp to shared memory, then combines all of them in every warp.
  int64_t warps = shape.lanes / warpThreads;
  Value shared = createShared(shape.block / warpThreads, value.getType());
  synchronizeLoop();
  Value warp = divide(thread(), warpThreads);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        remainder(thread(), warpThreads), constant(0));
  auto guarded = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(guarded.thenBlock());
    memref::StoreOp::create(builder, loc, value, shared, warp);
  }
  NVVM::BarrierOp::create(builder, loc);
  Value firstWarp = arith::MulIOp::create(builder, loc, divide(warp, warps), constant(warps));
  Value at = arith::AddIOp::create(builder, loc, firstWarp, remainder(thread(), warps));
  value = memref::LoadOp::create(builder, loc, shared, at);
  return butterfly(value, 1, warps, combine);
}

Value GpuThreads::combineParts(Value value, Combine combine) {
  if (shape.parts() == 1)
    return value;
  value = butterfly(value, shape.lanes, std::min(shape.group, warpThreads), combine);
  int64_t lanes = std::max(shape.lanes, warpThreads), rows = shape.group / lanes;
  if (rows <= 1)
    return value;
  // Writes a row of shared memory for each part that spans a warp or more; all threads then add up
  // the rows in order.
  auto vector = dyn_cast<VectorType>(value.getType());
  int64_t width = vector ? vector.getNumElements() : 1;
  Value shared =
      createShared(rows * shape.lanes * width, vector ? vector.getElementType() : value.getType());
  llvm::Align alignment(4 * std::min<uint64_t>(static_cast<uint64_t>(width), 4));
  auto place = [&](Value row) -> Value {
    Value at = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, row, constant(shape.lanes)), lane());
    return arith::MulIOp::create(builder, loc, at, constant(width));
  };
  auto load = [&](Value row) -> Value {
    if (vector)
      return vector::LoadOp::create(builder, loc, vector, shared, place(row), false, alignment);
    return memref::LoadOp::create(builder, loc, shared, place(row));
  };
  synchronizeLoop();
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        remainder(member(), lanes), constant(shape.lanes));
  auto guarded = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(guarded.thenBlock());
    Value row = divide(member(), lanes);
    if (vector)
      vector::StoreOp::create(builder, loc, value, shared, place(row), false, alignment);
    else
      memref::StoreOp::create(builder, loc, value, shared, place(row));
  }
  NVVM::BarrierOp::create(builder, loc);
  auto sum =
      scf::ForOp::create(builder, loc, constant(1), constant(rows), constant(1), load(constant(0)),
                         [&](OpBuilder &nested, Location, Value row, ValueRange now) {
                           OpBuilder::InsertionGuard guard(builder);
                           builder.setInsertionPointToEnd(nested.getInsertionBlock());
                           Value next = combine(now[0], load(row));
                           scf::YieldOp::create(builder, loc, next);
                         });
  return sum.getResult(0);
}

void GpuThreads::synchronize() {
  if (shape.group > warpThreads) {
    NVVM::BarrierOp::create(builder, loc);
  } else if (shape.group > 1) {
    Value all = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
    NVVM::SyncWarpOp::create(builder, loc, all);
  }
}

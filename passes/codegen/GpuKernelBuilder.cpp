// Emits the bodies of kernels for the threads of one block on a GPU.
#include "passes/codegen/GpuKernelBuilder.h"
#include "dialects/graph/ElementwiseOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace dtc;

namespace {

// Most rows of a unit that a block works on at once if each row has a warp.
constexpr int64_t mostWarps = 8;
// Vectors of a row per thread, so that as many loads are in flight at once.
constexpr int64_t threadVectors = 4;
// Most elements of a row that a thread keeps in registers, to load them once for all passes over
// the row.
constexpr int64_t keptElements = 32;
// Longest row that one thread computes alone.
constexpr int64_t threadPoints = 4;
// Most threads of a block that combines parts, of one that combines columns, and of one that has a
// single row of many. More threads would only add partial sums to combine; column blocks have
// several rows in flight in registers, which limits their size; two smaller row blocks overlap
// while one of them waits.
constexpr int64_t mostPartThreads = 512, mostColumnThreads = 256, mostRowThreads = 512;

int64_t powerOf2(int64_t least, int64_t value, int64_t most) {
  int64_t power =
      static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(value, 1))));
  return std::clamp(power, least, most);
}

} // namespace

GpuKernelBuilder::GpuKernelBuilder(OpBuilder &builder, func::FuncOp function, Location loc,
                                   Buffers given, int64_t vectorBytes)
    : KernelBuilder(builder, loc, std::move(given)), function(function), vectorBytes(vectorBytes) {
  Values all(buffers.operands);
  all.append(buffers.results.begin(), buffers.results.end());
  for (Value buffer : all) {
    if (!buffer)
      continue;
    int64_t size = cast<MemRefType>(buffer.getType()).getNumElements();
    fitsInts = fitsInts && size <= std::numeric_limits<int32_t>::max();
    if (size > 1 && isa<FloatType>(elementOf(buffer)))
      narrowestBytes =
          std::min<int64_t>(narrowestBytes, elementOf(buffer).getIntOrFloatBitWidth() / 8);
  }
}

int64_t GpuKernelBuilder::alignedLanes(int64_t size) const {
  int64_t lanes = 16 / narrowestBytes;
  while (size % lanes != 0)
    lanes /= 2;
  return lanes;
}

int64_t GpuKernelBuilder::laneCount(int64_t size) {
  int64_t lanes = alignedLanes(size);
  readsVectors |= lanes > 1;
  return vectorBytes < 16 ? 1 : lanes;
}

// Divides in 32 bits: a 64-bit division takes as long as a few loads.
Value GpuKernelBuilder::narrowed(llvm::function_ref<Value(Value, Value)> divide, Value a,
                                 int64_t b) {
  Type i32 = builder.getI32Type();
  Value narrow = arith::IndexCastUIOp::create(builder, loc, i32, a);
  Value by =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(b)));
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), divide(narrow, by));
}

Value GpuKernelBuilder::div(Value a, int64_t b) {
  if (!fitsInts || b > std::numeric_limits<int32_t>::max())
    return KernelBuilder::div(a, b);
  return narrowed(
      [&](Value x, Value y) { return arith::DivUIOp::create(builder, loc, x, y).getResult(); }, a,
      b);
}

Value GpuKernelBuilder::rem(Value a, int64_t b) {
  if (!fitsInts || b > std::numeric_limits<int32_t>::max())
    return KernelBuilder::rem(a, b);
  return narrowed(
      [&](Value x, Value y) { return arith::RemUIOp::create(builder, loc, x, y).getResult(); }, a,
      b);
}

Value GpuKernelBuilder::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

void GpuKernelBuilder::when(Value condition, llvm::function_ref<void()> body) {
  auto guarded = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(guarded.thenBlock());
  body();
}

int64_t GpuKernelBuilder::lanesOfPart(Extent extent, int64_t group) const {
  if (extent.parts == 1)
    return group;
  int64_t vectors = llvm::divideCeilSigned(extent.columns, alignedLanes(extent.columns));
  return powerOf2(1, vectors, std::min(group, warpThreads));
}

ThreadShape GpuKernelBuilder::shareBlock(Extent extent, int64_t most) const {
  int64_t vectors =
      extent.parts * llvm::divideCeilSigned(extent.columns, alignedLanes(extent.columns));
  if (extent.parts > 1)
    most = std::min(most, mostPartThreads);
  int64_t block = powerOf2(warpThreads, llvm::divideCeilSigned(vectors, threadVectors), most);
  return {block, block, lanesOfPart(extent, block)};
}

void GpuKernelBuilder::forEachUnit(Extent extent, llvm::function_ref<void(Value)> body) {
  shape = shareBlock(extent, maxBlockThreads);
  body(buffers.begin);
}

void GpuKernelBuilder::forEachRow(const RowShape &rows, Extent extent,
                                  llvm::function_ref<void(Value)> body) {
  int64_t perUnit = std::max<int64_t>(1, std::min(rows.rowsPerUnit(), rows.rows));
  if (perUnit == 1) {
    shape = shareBlock(extent, rows.rows == 1 ? maxBlockThreads : mostRowThreads);
    return body(buffers.begin);
  }
  if (extent.points() <= threadPoints) {
    int64_t warps = llvm::divideCeilSigned(std::min<int64_t>(perUnit, 256), warpThreads);
    shape = {warps * warpThreads, 1, 1};
  } else {
    int64_t rounds = llvm::divideCeilSigned(perUnit, mostWarps);
    shape = {warpThreads * llvm::divideCeilSigned(perUnit, rounds), warpThreads,
             lanesOfPart(extent, warpThreads)};
  }
  Value begin = mul(buffers.begin, rows.rowsPerUnit());
  Value end = min(add(begin, rows.rowsPerUnit()), index(rows.rows));
  forLoop(add(begin, threads().group()), end, shape.block / shape.group, {},
          [&](Value row, ValueRange) {
            body(row);
            return Values();
          });
}

KernelBuilder::Values GpuKernelBuilder::forEachVector(int64_t size, ValueRange carried,
                                                      VectorBody body) {
  int64_t width = laneCount(size), vectors = size / width;
  int64_t whole = vectors / shape.lanes;
  bool hasRest = vectors % shape.lanes != 0;
  Value first = mul(threads().lane(), width);
  auto column = [&](int64_t round) { return add(first, round * shape.lanes * width); };
  Values values(carried);
  // Unrolls fewer rounds without vectors, since a row then takes too many instructions.
  int64_t rounds = whole + hasRest, most = vectorBytes < 16 ? threadVectors : keptElements / width;
  std::optional<Delayed> stores;
  if (rounds <= most || whole <= 1) {
    // Delays the stores until after all loads: the buffers may alias, so that a load could
    // otherwise not move above the store of an earlier round.
    stores.emplace(*this);
    for (int64_t round = 0; round < whole; ++round)
      values = body(column(round), {width}, values);
  } else if (whole > 0) {
    int64_t step = shape.lanes * width;
    values = forLoop(index(0), index(whole * step), step, values,
                     [&](Value at, ValueRange now) { return body(add(first, at), {width}, now); });
  }
  if (!hasRest)
    return values;
  // Makes threads that have no vector left read their first one again and masks the result.
  Value rest = column(whole), counts = isBelow(rest, index(size));
  if (whole > 0)
    rest = select(counts, rest, first);
  return body(rest, {width, counts, /*isReadable=*/whole > 0}, values);
}

void GpuKernelBuilder::forEachPart(Value end, llvm::function_ref<void(Value)> body) {
  ++partDepth;
  forLoop(threads().part(), end, shape.parts(), {}, [&](Value part, ValueRange) {
    body(part);
    return Values();
  });
  --partDepth;
}

KernelBuilder::Values GpuKernelBuilder::forOwnParts(Value end, ValueRange carried, int64_t atOnce,
                                                    LoopBody body) {
  Value first = threads().part();
  int64_t step = shape.parts();
  Values values(carried);
  if (atOnce > 1) {
    Value left = select(isBelow(first, end), sub(end, first), index(0));
    Value wholeEnd = add(first, mul(div(add(left, step - 1), step * atOnce), step * atOnce));
    values = forLoop(first, wholeEnd, step * atOnce, values, [&](Value part, ValueRange now) {
      Values next(now);
      for (int64_t i = 0; i < atOnce; ++i)
        next = body(add(part, i * step), next);
      return next;
    });
    first = wholeEnd;
  }
  return forLoop(first, end, step, values, body);
}

KernelBuilder::Values GpuKernelBuilder::combineParts(Value end, Combining combining,
                                                     ValueRange carried, int64_t atOnce,
                                                     LoopBody body) {
  ++partDepth;
  Values values = forOwnParts(end, carried, atOnce, body);
  --partDepth;
  for (Value &value : values)
    value =
        threads().combineParts(value, [&](Value a, Value b) { return combine(combining, a, b); });
  return values;
}

void GpuKernelBuilder::forEachColumnUnit(const ColumnBlocks &units,
                                         llvm::function_ref<void(Value, Value, Lanes)> body) {
  int64_t width = vectorWidth(units.columns, units.width);
  int64_t blocks = columnUnits(1, units.columns, width);
  int64_t vector = laneCount(units.columns);
  int64_t lanes = width / vector, alignedPart = width / alignedLanes(units.columns);
  // Uses the same number of threads for aligned and unaligned buffers.
  int64_t block =
      powerOf2(std::max(width, warpThreads),
               llvm::divideCeilSigned(units.parts * alignedPart, threadVectors), mostColumnThreads);
  shape = {block, block, lanes};
  Value unit = buffers.begin;
  Value row = units.rows == 1 ? index(0) : div(unit, blocks);
  Value first = mul(units.rows == 1 ? unit : rem(unit, blocks), width);
  Value column = add(first, mul(threads().lane(), vector));
  if (units.columns % width == 0)
    return body(row, column, {vector});
  Value counts = isBelow(column, index(units.columns));
  body(row, select(counts, column, first), {vector, counts, /*isReadable=*/true});
}

Value GpuKernelBuilder::loadRaw(Value buffer, Value at, const Lanes &lanes) {
  auto type = VectorType::get({lanes.width}, elementOf(buffer));
  auto load = [&]() -> Value {
    int64_t bytes = lanes.width * elementOf(buffer).getIntOrFloatBitWidth() / 8;
    return vector::LoadOp::create(builder, loc, type, buffer, at, /*nontemporal=*/false,
                                  llvm::Align(static_cast<uint64_t>(std::min<int64_t>(bytes, 16))));
  };
  if (!lanes.mask)
    return load();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  if (lanes.isReadable)
    return select(lanes.mask, load(), zero);
  auto choice = scf::IfOp::create(builder, loc, TypeRange(type), lanes.mask, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(builder, loc, load());
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, loc, zero);
  return choice.getResult(0);
}

void GpuKernelBuilder::whenWriting(bool oneLane, llvm::function_ref<void()> body) {
  bool onePart = shape.parts() > 1 && partDepth == 0;
  GpuThreads these = threads();
  if (onePart && oneLane)
    return when(
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, these.member(), index(0)),
        body);
  if (onePart)
    return when(isBelow(these.member(), index(shape.lanes)), body);
  if (oneLane && shape.lanes > 1)
    return when(
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, these.lane(), index(0)),
        body);
  body();
}

GpuKernelBuilder::Delayed::Delayed(GpuKernelBuilder &k)
    : k(k), block(k.builder.getInsertionBlock()) {
  k.delayed = this;
}

GpuKernelBuilder::Delayed::~Delayed() {
  k.delayed = nullptr;
  for (const std::function<void()> &store : stores)
    store();
}

void GpuKernelBuilder::storeRaw(Value vector, Value buffer, Value at, const Lanes &lanes) {
  if (delayed && delayed->block == builder.getInsertionBlock())
    return delayed->stores.push_back(
        [this, vector, buffer, at, lanes] { storeNow(vector, buffer, at, lanes); });
  storeNow(vector, buffer, at, lanes);
}

void GpuKernelBuilder::storeNow(Value vector, Value buffer, Value at, const Lanes &lanes) {
  int64_t bytes = lanes.width * elementOf(buffer).getIntOrFloatBitWidth() / 8;
  whenWriting(/*oneLane=*/false, [&] {
    auto store = [&] {
      vector::StoreOp::create(builder, loc, vector, buffer, at, /*nontemporal=*/false,
                              llvm::Align(static_cast<uint64_t>(std::min<int64_t>(bytes, 16))));
    };
    lanes.mask ? when(lanes.mask, store) : store();
  });
}

void GpuKernelBuilder::storeElement(Value scalar, Value buffer, Value at) {
  whenWriting(/*oneLane=*/true, [&] { memref::StoreOp::create(builder, loc, scalar, buffer, at); });
}

Value GpuKernelBuilder::combine(Combining combining, Value a, Value b) {
  return combining == Combining::Max ? maxF(a, b) : addF(a, b);
}

// Combines the lanes of this thread in pairs.
Value GpuKernelBuilder::reduceVector(Combining combining, Value vector) {
  Values lanes;
  for (int64_t i = 0; i < cast<VectorType>(vector.getType()).getNumElements(); ++i)
    lanes.push_back(vector::ExtractOp::create(builder, loc, vector, i));
  while (lanes.size() > 1) {
    size_t half = lanes.size() / 2;
    for (size_t i = 0; i < half; ++i)
      lanes[i] = combine(combining, lanes[i], lanes[i + half]);
    lanes.resize(half);
  }
  return lanes[0];
}

// Combines the lanes of each thread, then the threads.
Value GpuKernelBuilder::reduceLanes(Combining combining, Value vector) {
  return threads().combineLanes(reduceVector(combining, vector),
                                [&](Value a, Value b) { return combine(combining, a, b); });
}

Value GpuKernelBuilder::sum(Value vector) { return reduceLanes(Combining::Sum, vector); }
Value GpuKernelBuilder::max(Value vector) { return reduceLanes(Combining::Max, vector); }

// Keeps per thread the largest element so far and the sum relative to it, which is rescaled when a
// larger element comes: one more exponential per vector. Starts from the lowest finite number and
// not from -inf, because -inf - -inf is not a number.
KernelBuilder::SumOfExponentials GpuKernelBuilder::sumExponentials(int64_t columns,
                                                                   LoadColumns load) {
  int64_t width = laneCount(columns);
  Value lowest = constant(-static_cast<double>(std::numeric_limits<float>::max()));
  Values own = forEachVector(
      columns, {splat(0, width), lowest}, [&](Value column, Lanes lanes, ValueRange now) -> Values {
        Value x = load(column, lanes);
        Value largest = maxF(reduceVector(Combining::Max, x), now[1]);
        Value shrink = exp(subF(now[1], largest));
        Value e = exp(subF(x, splat(largest, lanes.width)));
        return {fma(now[0], splat(shrink, lanes.width), keep(e, 0, lanes)), largest};
      });
  Value largest = max(splat(own[1], 1));
  Value shrink = exp(subF(own[1], largest));
  return {largest, sum(mulF(own[0], splat(shrink, width)))};
}

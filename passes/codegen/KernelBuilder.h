// The builder in which kernels other than pointwise ones are written: loops over units, rows and
// vectors of columns, with one implementation for processors and one for GPUs.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/RowShape.h"
#include "passes/codegen/WindowIndex.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace dtc {

class KernelBuilder;

} // namespace dtc

#include "passes/codegen/KernelOpInterface.h.inc"

namespace dtc {

// The lanes of one vector and a mask for those past the end of a row.
struct Lanes {
  int64_t width;
  mlir::Value mask = nullptr; // null: all lanes count; a vector of i1, or one i1 for all lanes
  bool isReadable = false;    // masked lanes may be read: they have memory
};

// The points of a row or unit: `parts` runs of `columns` neighbours each; forEachVector loops over
// the columns.
struct Extent {
  int64_t parts, columns;
  // Returns the number of points.
  int64_t points() const { return parts * columns; }
};

// Writes the body of a function that has one flat buffer per operand and result of the op.
//
// Values are f32 in registers, whatever the buffers hold. Every loop has fixed bounds, so that the
// parts of a row are added up in the same order for every range of units.
//
// A processor runs the loops as they are written (CpuKernelBuilder). On a GPU all threads of a
// block run the body, and each has its own vectors (GpuKernelBuilder). Three rules follow:
// - Values carried by forEachVector and combineParts begin with the neutral element of the sum or
//   maximum.
// - A vector becomes one number by sum and max only.
// - Writes of other threads are visible after synchronize.
//
// Example, y = x * 2 over rows of C:
//   kernel.forEachRow(shape, {1, C}, [&](Value row) {
//     Value base = kernel.mul(row, C);
//     kernel.forEachVector(C, {}, [&](Value column, Lanes lanes, ValueRange) {
//       Value at = kernel.add(base, column);
//       ...
//     });
//   });
class KernelBuilder {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<mlir::Value>;

  // The buffers and the range of units of one kernel function.
  struct Buffers {
    llvm::SmallVector<mlir::Value> operands; // memref<Nxtype>
    llvm::SmallVector<mlir::Value> results;  // as operands; null for a result that is not read
    // units, of index type; on a GPU begin is the block's unit and end is null
    mlir::Value begin, end;
    llvm::SmallVector<WindowStarts> windows; // the windows of split loops
  };
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc, Buffers buffers)
      : builder(builder), loc(loc), buffers(std::move(buffers)) {}
  virtual ~KernelBuilder() = default;

  // Returns the flat buffer of operand `i`.
  Value operand(unsigned i) const { return buffers.operands[i]; }
  // Returns the flat buffer of result `i`; null if it is not read.
  Value result(unsigned i) const { return buffers.results[i]; }

  // Returns an index constant. The functions below emit index arithmetic.
  Value index(int64_t value);
  // Returns a + b.
  Value add(Value a, Value b);
  // Returns a + b.
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  // Returns a - b.
  Value sub(Value a, Value b);
  // Returns a * b.
  Value mul(Value a, int64_t b);
  // Returns the smaller one of two indices, which are compared as signed numbers.
  Value min(Value a, Value b);
  // Returns a / b, rounded down, for non-negative `a` and positive `b`.
  virtual Value div(Value a, int64_t b);
  // Returns a % b for non-negative `a` and positive `b`.
  virtual Value rem(Value a, int64_t b);

  // Returns the number of this rank's elements along the loop of `window` that are not padding;
  // they come first.
  Value validSize(graph::WindowAttr window);
  // Returns the window of `loop` among `windows` if it is split or padded, else null.
  static graph::WindowAttr findWindow(llvm::ArrayRef<graph::WindowAttr> windows, unsigned loop,
                                      int64_t size);
  // Returns the index on this rank of global index `global` (see localIndex).
  Value localOf(graph::WindowAttr window, Value global);

  // The body of a loop: gets the index and the carried values and returns their next values.
  using LoopBody = llvm::function_ref<Values(Value, ValueRange)>;
  // Emits a loop over [begin, end) with carried values; returns their final values.
  Values forLoop(Value begin, Value end, int64_t step, ValueRange carried, LoopBody body);
  // Emits a loop over [begin, end) that carries nothing.
  void forEach(Value begin, Value end, llvm::function_ref<void(Value)> body);
  // Loops over the units of the call, each of `extent`.
  virtual void forEachUnit(Extent extent, llvm::function_ref<void(Value)> body) = 0;
  // Loops over the rows of the call's units, each of `extent`.
  virtual void forEachRow(const RowShape &rows, Extent extent,
                          llvm::function_ref<void(Value)> body) = 0;
  // The body of a loop over vectors: gets the first column, the lanes and the carried values.
  using VectorBody = llvm::function_ref<Values(Value, Lanes, ValueRange)>;
  // Returns the lanes of a vector in forEachVector(size).
  virtual int64_t laneCount(int64_t size) = 0;
  // Loops over columns [0, size) in vectors of laneCount(size) lanes.
  virtual Values forEachVector(int64_t size, ValueRange carried, VectorBody body) = 0;
  // Loops over the parts of an extent, which must not depend on each other.
  virtual void forEachPart(Value end, llvm::function_ref<void(Value)> body) = 0;
  // The reduction that combines the values of parts.
  enum class Combining { Sum, Max };
  // Loops over parts and reduces the carried values over all of them. A GPU thread handles `atOnce`
  // of its parts per iteration, in order, so that as many loads are in flight together.
  virtual Values combineParts(Value end, Combining combining, ValueRange carried, int64_t atOnce,
                              LoopBody body) = 0;

  // Returns the lanes of a vector within a unit, the same for every target: four AVX2 registers,
  // enough independent sums to hide the latency of an addition.
  static int64_t vectorWidth(int64_t size, int64_t most = 32);
  // Returns the number of units if each is a block of `width` columns of one row.
  static int64_t columnUnits(int64_t rows, int64_t columns, int64_t width);
  // Blocks of `width` columns of each of `rows` rows; a column has `parts` elements.
  struct ColumnBlocks {
    int64_t rows, columns, width, parts;
  };
  // Loops over the units of the call, one block of columns each.
  virtual void forEachColumnUnit(const ColumnBlocks &blocks,
                                 llvm::function_ref<void(Value row, Value column, Lanes)> body) = 0;

  // Loads a vector and converts it to f32. Masked lanes read as 0 and are not written; writes to a
  // null buffer are dropped.
  Value load(Value buffer, Value at, const Lanes &lanes);
  // Loads a vector in the buffer's type.
  virtual Value loadRaw(Value buffer, Value at, const Lanes &lanes) = 0;
  // Stores a vector of the buffer's type.
  virtual void storeRaw(Value vector, Value buffer, Value at, const Lanes &lanes) = 0;
  // Converts a vector from f32 and stores it.
  void store(Value vector, Value buffer, Value at, const Lanes &lanes);
  // Loads one element as f32.
  Value loadScalar(Value buffer, Value at);
  // Stores one f32 as an element.
  void storeScalar(Value scalar, Value buffer, Value at);
  Value loadIndex(Value buffer, Value at); // Loads an element of an i32 or i64 buffer as an index.
  // Orders reads and writes of a row's elements before later writes by other lanes.
  virtual void synchronize() = 0;

  // Returns an f32 constant. The functions below work on f32 scalars and vectors.
  Value constant(double value);
  // Returns a vector of `width` copies of a scalar.
  Value splat(Value scalar, int64_t width);
  // Returns a vector of `width` copies of a constant.
  Value splat(double value, int64_t width) { return splat(constant(value), width); }
  // Returns a + b.
  Value addF(Value a, Value b);
  // Returns a - b.
  Value subF(Value a, Value b);
  // Returns a * b.
  Value mulF(Value a, Value b);
  // Returns a / b.
  Value divF(Value a, Value b);
  // Returns a if a > b, else b; the result is b if one of them is NaN.
  Value maxF(Value a, Value b);
  // Returns a * b + c with one rounding.
  Value fma(Value a, Value b, Value c);
  // Returns e^a.
  Value exp(Value a);
  // Returns the natural logarithm.
  Value log(Value a);
  // Returns the square root.
  Value sqrt(Value a);
  // Returns `a` in the lanes that count, `neutral` in the others.
  Value keep(Value a, double neutral, const Lanes &lanes);
  // Returns `a` in the lanes of columns below `limit`, `neutral` in the others.
  Value keepBelow(Value a, double neutral, Value column, Value limit);
  // Returns `a` where the condition is true, else `b`.
  Value select(Value condition, Value a, Value b);
  // Returns the sum of the lanes; on a GPU over all threads of the row.
  virtual Value sum(Value vector) = 0;
  // Returns the maximum of the lanes; on a GPU over all threads of the row.
  virtual Value max(Value vector) = 0;
  // Returns the largest element of buffer[base, base + columns).
  Value maxOfRow(Value buffer, Value base, int64_t columns);
  // Loads a vector of a row, with -inf in masked lanes. It may be called more than once per column.
  using LoadColumns = llvm::function_ref<Value(Value column, const Lanes &lanes)>;
  // The maximum of a row and the sum of exp(x - max). If all elements are -inf, the maximum is -inf
  // on a processor and the lowest finite f32 on a GPU.
  struct SumOfExponentials {
    Value max, sum;
  };
  // Reduces a row of `columns` numbers. A processor makes two passes over the row, which stays in
  // its cache; a GPU, whose memory is slower, makes one.
  virtual SumOfExponentials sumExponentials(int64_t columns, LoadColumns load);

  mlir::OpBuilder &builder;
  mlir::Location loc;

protected:
  // Stores one element of the buffer's type.
  virtual void storeElement(Value scalar, Value buffer, Value at) = 0;
  static mlir::Type elementOf(Value buffer);

  Buffers buffers;

private:
  WindowStarts startsOf(graph::WindowAttr window);
};

} // namespace dtc

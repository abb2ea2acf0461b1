// What kernels that are not pointwise are written in: loops over units, rows and vectors of columns, which a processor or a
// GPU has each in its own way.
#pragma once

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"
#include "passes/codegen/RowShape.h"
#include "passes/codegen/WindowIndex.h"

namespace dtc {

class KernelBuilder;

} // namespace dtc

#include "passes/codegen/KernelOpInterface.h.inc"

namespace dtc {

// Attaches KernelOpInterface to the ops of the graph dialect.
void registerKernelInterfaces(mlir::DialectRegistry &registry);

// The lanes of one vector: how many, and which of them count where the row ends inside.
struct Lanes {
  int64_t width;
  mlir::Value mask = nullptr; // null: all lanes; a vector of i1, or an i1 for all lanes at once
  bool isReadable = false;    // whether lanes that do not count have memory all the same
};

// The points of a row or unit: `parts` runs of `columns` neighbours, which forEachVector goes over.
struct Extent {
  int64_t parts, columns;
  int64_t points() const { return parts * columns; }
};

// Writes into a function that has one flat buffer per operand and result of the op.
//
// Values are f32 in registers whatever the buffers hold. Every loop has fixed bounds, so that the
// parts of a row are added up in the same order whichever units a call covers.
//
// A processor runs the loops as they are written (CpuKernelBuilder). On a GPU all threads of a block run the body and each has
// the vectors that are its own (GpuKernelBuilder), so what forEachVector and combineParts carry must begin with what changes no
// sum or maximum, vectors become one number only by sum and max, and what other threads have written is there after synchronize.
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

  struct Buffers {
    llvm::SmallVector<mlir::Value> operands; // memref<Nxtype>
    llvm::SmallVector<mlir::Value> results;  // the same; null where nobody reads the result
    mlir::Value begin, end; // units, index; on a GPU begin is the block's, end null
    llvm::SmallVector<WindowStarts> windows; // of split loops
  };
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc, Buffers buffers)
      : builder(builder), loc(loc), buffers(std::move(buffers)) {}
  virtual ~KernelBuilder() = default;

  Value operand(unsigned i) const { return buffers.operands[i]; }
  Value result(unsigned i) const { return buffers.results[i]; }

  // Index arithmetic.
  Value index(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  Value sub(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value min(Value a, Value b);
  virtual Value div(Value a, int64_t b);
  virtual Value rem(Value a, int64_t b);

  // How many of this rank's elements of the loop of `window` are no padding, from its first on.
  Value validSize(graph::WindowAttr window);
  // The window of `loop` among `windows` that needs care: null unless it is split or has padding.
  static graph::WindowAttr findWindow(llvm::ArrayRef<graph::WindowAttr> windows, unsigned loop,
                                      int64_t size);
  // The element of this rank that is global index `global` (see localIndex).
  Value localOf(graph::WindowAttr window, Value global);

  // Loops. The body gets the index and the carried values and returns their next values.
  using LoopBody = llvm::function_ref<Values(Value, ValueRange)>;
  Values forLoop(Value begin, Value end, int64_t step, ValueRange carried, LoopBody body);
  void forEach(Value begin, Value end, llvm::function_ref<void(Value)> body);
  // Over the units of the call, each of `extent`.
  virtual void forEachUnit(Extent extent, llvm::function_ref<void(Value)> body) = 0;
  // Over the rows of the call's units, each of `extent`.
  virtual void forEachRow(const RowShape &rows, Extent extent,
                          llvm::function_ref<void(Value)> body) = 0;
  // Over columns [0, size) in vectors of laneCount(size).
  using VectorBody = llvm::function_ref<Values(Value, Lanes, ValueRange)>;
  virtual int64_t laneCount(int64_t size) = 0;
  virtual Values forEachVector(int64_t size, ValueRange carried, VectorBody body) = 0;
  // Over the parts of an extent, which do not depend on each other.
  virtual void forEachPart(Value end, llvm::function_ref<void(Value)> body) = 0;
  // The same with sums or maxima of what the parts have.
  enum class Combining { Sum, Max };
  // A thread of a GPU has `atOnce` of its parts in an iteration, in their order, so that as many loads wait for memory together.
  virtual Values combineParts(Value end, Combining combining, ValueRange carried, int64_t atOnce,
                              LoopBody body) = 0;

  // The lanes of a vector of a unit, whatever it is computed on: four AVX2 registers, enough independent sums to hide the
  // latency of an addition.
  static int64_t vectorWidth(int64_t size, int64_t most = 32);
  // Units that are blocks of `width` columns of each of several rows, of `parts` elements a column.
  static int64_t columnUnits(int64_t rows, int64_t columns, int64_t width);
  struct ColumnBlocks {
    int64_t rows, columns, width, parts;
  };
  virtual void forEachColumnUnit(const ColumnBlocks &blocks,
                                 llvm::function_ref<void(Value row, Value column, Lanes)> body) = 0;

  // Memory. Lanes that do not count read as 0 and are not written; writes to a null buffer are
  // dropped.
  Value load(Value buffer, Value at, const Lanes &lanes);
  virtual Value loadRaw(Value buffer, Value at, const Lanes &lanes) = 0; // in the buffer's type
  virtual void storeRaw(Value vector, Value buffer, Value at, const Lanes &lanes) = 0;
  void store(Value vector, Value buffer, Value at, const Lanes &lanes);
  Value loadScalar(Value buffer, Value at);
  void storeScalar(Value scalar, Value buffer, Value at);
  Value loadIndex(Value buffer, Value at); // of an i32 or i64 buffer
  // Between reads or writes of a row's elements and writes of them by another lane.
  virtual void synchronize() = 0;

  // f32 values, scalar or vector.
  Value constant(double value);
  Value splat(Value scalar, int64_t width);
  Value splat(double value, int64_t width) { return splat(constant(value), width); }
  Value addF(Value a, Value b);
  Value subF(Value a, Value b);
  Value mulF(Value a, Value b);
  Value divF(Value a, Value b);
  Value maxF(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value exp(Value a);
  Value log(Value a);
  Value sqrt(Value a);
  // `a` in the lanes that count, `neutral` in the others.
  Value keep(Value a, double neutral, const Lanes &lanes);
  // As keep, but only for columns below `limit`.
  Value keepBelow(Value a, double neutral, Value column, Value limit);
  Value select(Value condition, Value a, Value b);
  virtual Value sum(Value vector) = 0;
  virtual Value max(Value vector) = 0;
  // The largest of buffer[base, base + columns).
  Value maxOfRow(Value buffer, Value base, int64_t columns);
  // Of a row of `columns` numbers the largest, or a number below all of them that are finite where none is, and the sum of exp(x -
  // that). `load` gives those of a
  // vector, -inf in lanes that do not count; it may be called more than once for each. On a processor a row stays in its cache
  // between two passes; a GPU, to which memory is far, has one.
  using LoadColumns = llvm::function_ref<Value(Value column, const Lanes &lanes)>;
  struct SumOfExponentials {
    Value max, sum;
  };
  virtual SumOfExponentials sumExponentials(int64_t columns, LoadColumns load);

  mlir::OpBuilder &builder;
  mlir::Location loc;

protected:
  virtual void storeElement(Value scalar, Value buffer, Value at) = 0; // in the buffer's type
  static mlir::Type elementOf(Value buffer);

  Buffers buffers;

private:
  WindowStarts startsOf(graph::WindowAttr window);
};

} // namespace dtc

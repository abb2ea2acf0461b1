// The threads of one block of a GPU kernel and their communication.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

inline constexpr int64_t warpThreads = 32, maxBlockThreads = 1024;

// The division of a block's threads: `group` threads work on one row, `lanes` of them side by side
// on one part of it. All are powers of two except `block`; `group` is 1, a warp or the block.
// Example: a block of 256 threads with a warp per row and 16 lanes per part has 8 rows at a time,
// with two parts each.
struct ThreadShape {
  int64_t block = warpThreads, group = 1, lanes = 1;
  // Returns the number of parts of a row that a group works on at once.
  int64_t parts() const { return group / lanes; }
};

// Emits thread numbers, shuffles and barriers in the NVVM dialect. All threads of a group must
// reach each barrier.
class GpuThreads {
public:
  using Value = mlir::Value;
  using Combine = llvm::function_ref<Value(Value, Value)>;

  // Emits into `function`, which must be in a module, at the builder's insertion point.
  GpuThreads(mlir::OpBuilder &builder, mlir::Location loc, mlir::func::FuncOp function,
             ThreadShape shape)
      : builder(builder), loc(loc), function(function), shape(shape) {}

  const ThreadShape &getShape() const { return shape; }

  // Returns the thread's number in its block, as an index.
  Value thread();
  // Returns the number of the thread's group in the block.
  Value group();
  // Returns the thread's number in its group.
  Value member();
  // Returns the number of the thread's part in its group.
  Value part();
  // Returns the thread's number in its part.
  Value lane();

  // Returns the number of the block in the grid: (z * size of y + y) * size of x + x.
  Value block();

  // Combines an f32 over the lanes of a part; all of them get the result.
  Value combineLanes(Value value, Combine combine);
  // Combines an f32, an f64 or a vector of f32 over the parts, lane by lane; all threads of the
  // group get the result.
  Value combineParts(Value value, Combine combine);
  // Makes earlier writes of the group's threads visible to its other threads.
  void synchronize();

private:
  Value constant(int64_t value);
  Value divide(Value a, int64_t b);
  Value remainder(Value a, int64_t b);
  Value special(llvm::function_ref<Value(mlir::Type)> read);
  // Returns the value of the thread whose number differs in one bit.
  Value shuffle(Value value, int64_t distance);
  Value butterfly(Value value, int64_t first, int64_t end, Combine combine);
  // Allocates shared memory for the present place in the code alone.
  Value createShared(int64_t elements, mlir::Type element);
  // Emits a barrier if the insertion point is in a loop, before shared memory of the last iteration
  // is overwritten.
  void synchronizeLoop();

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::func::FuncOp function;
  ThreadShape shape;
};

} // namespace dtc

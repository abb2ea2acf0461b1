// The threads of one block of a kernel on a GPU, and what they tell each other.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

inline constexpr int64_t warpThreads = 32, maxBlockThreads = 1024;

// How the threads of a block are dealt out: `group` of them have one row, `lanes` of these one part of it, side by side. All
// are powers of two but `block`, and `group` is 1, a warp or the block.
// Example: a block of 256 with a warp a row and 16 lanes a part has 8 rows at a time and of each two parts.
struct ThreadShape {
  int64_t block = warpThreads, group = 1, lanes = 1;
  int64_t parts() const { return group / lanes; }
};

// Emits code of the NVVM dialect. Barriers are reached by all threads of the group.
class GpuThreads {
public:
  using Value = mlir::Value;
  using Combine = llvm::function_ref<Value(Value, Value)>;

  // Of `function`, which is in a module.
  GpuThreads(mlir::OpBuilder &builder, mlir::Location loc, mlir::func::FuncOp function,
             ThreadShape shape)
      : builder(builder), loc(loc), function(function), shape(shape) {}

  const ThreadShape &getShape() const { return shape; }

  // Numbers of this thread, of index type: in the block, of its group, in its group, of its part, in its part.
  Value thread();
  Value group();
  Value member();
  Value part();
  Value lane();

  // What this thread's block is: (z * size of y + y) * size of x + x.
  Value block();

  // `value`, an f32, combined over the lanes of a part; all of them get it.
  Value combineLanes(Value value, Combine combine);
  // `value`, an f32 or f64 or a vector of f32, combined over parts, lane by lane; all threads of the group get it.
  Value combineParts(Value value, Combine combine);
  // What threads of the group have written before is there for the others after it.
  void synchronize();

private:
  Value constant(int64_t value);
  Value divide(Value a, int64_t b);
  Value remainder(Value a, int64_t b);
  Value special(llvm::function_ref<Value(mlir::Type)> read);
  // Of the thread whose number differs in one bit.
  Value exchange(Value value, int64_t distance);
  Value butterfly(Value value, int64_t first, int64_t end, Combine combine);
  // Memory of the block, for this place in the code alone.
  Value createShared(int64_t elements, mlir::Type element);
  // Before shared memory that may have been written in the loop's last round is written anew.
  void synchronizeLoop();

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::func::FuncOp function;
  ThreadShape shape;
};

} // namespace dtc

// Emits the bodies of kernels for the threads of one block on a GPU.
#pragma once

#include "passes/codegen/GpuThreads.h"
#include "passes/codegen/KernelBuilder.h"
#include <functional>
#include <vector>

namespace dtc {

// Emits one unit per block. Rows are assigned to threads, warps or the whole block, by their
// length. Within a row of n threads each thread has every n-th vector, so that a warp reads
// neighbours and no thread reads elements again that another one writes. A vector has 16 bytes of
// the narrowest buffer, or as many elements as divide the size. Masks only apply to whole vectors.
//
// Sums are combined within a thread, then by shuffles and through shared memory, always in the same
// order.
class GpuKernelBuilder final : public KernelBuilder {
public:
  // `vectorBytes` is the alignment of the buffers: 16, or less to access single elements.
  GpuKernelBuilder(mlir::OpBuilder &builder, mlir::func::FuncOp function, mlir::Location loc,
                   Buffers buffers, int64_t vectorBytes);

  Value unit() const { return buffers.begin; }
  // Returns the threads of a block, once a body has been emitted.
  int64_t blockThreads() const { return shape.block; }
  // True if the emitted code needs buffers that are aligned to 16 bytes.
  bool needsAlignment() const { return readsVectors; }
  // Sets the block's shape for bodies that assign work to threads themselves.
  void setThreads(ThreadShape threads) { shape = threads; }
  // Returns the emitter of thread numbers, shuffles and barriers for the present shape.
  GpuThreads threads() { return GpuThreads(builder, loc, function, shape); }
  // Returns the elements in 16 bytes of the narrowest buffer, halved until they divide `size`
  // (all of them for a `size` of 0).
  int64_t alignedLanes(int64_t size) const;
  // Returns alignedLanes, or 1 if the buffers are not aligned.
  int64_t laneCount(int64_t size) override;

  Value div(Value a, int64_t b) override;
  Value rem(Value a, int64_t b) override;

  void forEachUnit(Extent extent, llvm::function_ref<void(Value)> body) override;
  void forEachRow(const RowShape &rows, Extent extent,
                  llvm::function_ref<void(Value)> body) override;
  Values forEachVector(int64_t size, ValueRange carried, VectorBody body) override;
  void forEachPart(Value end, llvm::function_ref<void(Value)> body) override;
  Values combineParts(Value end, Combining combining, ValueRange carried, int64_t atOnce,
                      LoopBody body) override;
  void forEachColumnUnit(const ColumnBlocks &blocks,
                         llvm::function_ref<void(Value row, Value column, Lanes)> body) override;
  Value loadRaw(Value buffer, Value at, const Lanes &lanes) override;
  void storeRaw(Value vector, Value buffer, Value at, const Lanes &lanes) override;
  void synchronize() override { threads().synchronize(); }
  Value sum(Value vector) override;
  Value max(Value vector) override;
  SumOfExponentials sumExponentials(int64_t columns, LoadColumns load) override;
  // Emits `body` for the threads whose `condition` is true.
  void when(Value condition, llvm::function_ref<void()> body);
  // Returns an i1: a < b.
  Value isBelow(Value a, Value b);

protected:
  void storeElement(Value scalar, Value buffer, Value at) override;

private:
  // Delays stores to the present block until its end.
  struct Delayed {
    explicit Delayed(GpuKernelBuilder &k);
    ~Delayed();
    Delayed(const Delayed &) = delete;

    GpuKernelBuilder &k;
    mlir::Block *block;
    std::vector<std::function<void()>> stores;
  };

  void storeNow(Value vector, Value buffer, Value at, const Lanes &lanes);
  Value narrowed(llvm::function_ref<Value(Value, Value)> divide, Value a, int64_t b);
  // Returns a block of at most `most` threads for one row of `extent`.
  ThreadShape shareBlock(Extent extent, int64_t most) const;
  int64_t lanesOfPart(Extent extent, int64_t group) const;
  // Loops over the parts of this thread below `end`.
  Values forOwnParts(Value end, ValueRange carried, int64_t atOnce, LoopBody body);
  Value combine(Combining combining, Value a, Value b);
  Value reduceVector(Combining combining, Value vector);
  Value reduceLanes(Combining combining, Value vector);
  // Emits writes for one of the groups of lanes: outside of loops over parts they all hold the same
  // values.
  void whenWriting(bool oneLane, llvm::function_ref<void()> body);

  mlir::func::FuncOp function;
  int64_t vectorBytes, narrowestBytes = 4;
  bool fitsInts = true;      // all indices fit in 32 bits
  bool readsVectors = false; // some access has several elements
  unsigned partDepth = 0;    // number of loops over parts around the insertion point
  ThreadShape shape;
  Delayed *delayed = nullptr;
};

} // namespace dtc

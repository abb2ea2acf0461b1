// Emits the bodies of kernels for the threads of one block on a GPU.
#pragma once

#include "passes/codegen/GpuThreads.h"
#include "passes/codegen/KernelBuilder.h"
#include <functional>
#include <vector>

namespace dtc {

// A unit is a block's. Rows are dealt out to threads, warps or the whole block, by their length; of a row each thread has
// every n-th vector, n being the row's threads, so that a warp reads neighbours and a thread reads nothing twice that another
// writes. Vectors are of 16 bytes of the narrowest buffer, or of as many elements as divide the size. Nothing is masked but
// whole vectors.
//
// Sums are made thread by thread, then by shuffles and through shared memory, always in the same order.
class GpuKernelBuilder final : public KernelBuilder {
public:
  // `vectorBytes`: what buffers are aligned to; 16, or less for single elements.
  GpuKernelBuilder(mlir::OpBuilder &builder, mlir::func::FuncOp function, mlir::Location loc,
                   Buffers buffers, int64_t vectorBytes);

  Value unit() const { return buffers.begin; }
  // How many threads a block has, once a body has been emitted.
  int64_t blockThreads() const { return shape.block; }
  // Whether anything needs buffers that are aligned to 16 bytes.
  bool needsAlignment() const { return readsVectors; }
  // For bodies that deal out their work themselves.
  void setThreads(ThreadShape threads) { shape = threads; }
  GpuThreads threads() { return GpuThreads(builder, loc, function, shape); }
  // Lanes of 16 bytes of the narrowest buffer, or fewer that divide `size`.
  int64_t alignedLanes(int64_t size) const;
  // As many, but 1 where buffers are not aligned.
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
  // Emits `body` for threads of which `condition` is true.
  void when(Value condition, llvm::function_ref<void()> body);
  Value isBelow(Value a, Value b);

protected:
  void storeElement(Value scalar, Value buffer, Value at) override;

private:
  // Has stores to the present block wait until its end.
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
  // Threads, `most` at most, for one row of `extent` in a block of its own.
  ThreadShape shareBlock(Extent extent, int64_t most) const;
  int64_t lanesOfPart(Extent extent, int64_t group) const;
  // Over this thread's parts below `end`.
  Values forOwnParts(Value end, ValueRange carried, int64_t atOnce, LoopBody body);
  Value combine(Combining combining, Value a, Value b);
  Value reduceVector(Combining combining, Value vector);
  Value reduceLanes(Combining combining, Value vector);
  // Outside of parts all groups of lanes have the same values, of which one writes.
  void whenWriting(bool oneLane, llvm::function_ref<void()> body);

  mlir::func::FuncOp function;
  int64_t vectorBytes, narrowestBytes = 4;
  bool fitsInts = true;      // all indices, in 32 bits
  bool readsVectors = false; // of more than one element
  unsigned partDepth = 0;    // loops over parts around the insertion point
  ThreadShape shape;
  Delayed *delayed = nullptr;
};

} // namespace dtc

// Emits the loops and vectors of kernels for the processor.
#pragma once

#include "passes/codegen/KernelBuilder.h"

namespace dtc {

// Emits vectors of up to 32 lanes; a vector is masked if a row ends inside of it.
class CpuKernelBuilder final : public KernelBuilder {
public:
  using KernelBuilder::KernelBuilder;

  void forEachUnit(Extent extent, llvm::function_ref<void(Value)> body) override;
  void forEachRow(const RowShape &rows, Extent extent,
                  llvm::function_ref<void(Value)> body) override;
  int64_t laneCount(int64_t size) override { return vectorWidth(size); }
  // Returns the first `count` lanes of a vector of `width` lanes.
  Lanes firstLanes(int64_t count, int64_t width);
  // Returns the first `count` lanes of the narrowest vector that holds them.
  Lanes firstLanes(int64_t count) { return firstLanes(count, vectorWidth(count)); }
  Values forEachVector(int64_t size, ValueRange carried, VectorBody body) override;
  void forEachPart(Value end, llvm::function_ref<void(Value)> body) override;
  Values combineParts(Value end, Combining combining, ValueRange carried, int64_t atOnce,
                      LoopBody body) override;
  void forEachColumnUnit(const ColumnBlocks &units,
                         llvm::function_ref<void(Value row, Value column, Lanes)> body) override;
  Value loadRaw(Value buffer, Value at, const Lanes &lanes) override;
  void storeRaw(Value vector, Value buffer, Value at, const Lanes &lanes) override;
  void synchronize() override {}
  Value sum(Value vector) override;
  Value max(Value vector) override;

protected:
  void storeElement(Value scalar, Value buffer, Value at) override;
};

} // namespace dtc

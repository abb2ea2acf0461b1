// Instructions that must keep their order.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// The memory that instructions read and write.
struct AccessRanges {
  llvm::SmallVector<exec::BufferRange, 4> reads, writes;

  AccessRanges() = default;
  explicit AccessRanges(exec::InstructionOpInterface instruction);
  // Adds the accesses of other instructions.
  void add(const AccessRanges &other);
  // True if one writes bytes that the other reads or writes. Conservative: strided accesses count
  // as contiguous.
  bool conflictsWith(const AccessRanges &other) const;
  // Returns the exec.buffers that the ranges are of, each once.
  llvm::SmallVector<mlir::Value, 4> getRoots() const;
};

// True if the accesses of two instructions conflict.
bool conflict(exec::InstructionOpInterface a, exec::InstructionOpInterface b);

// True if the instruction reads or writes memory of `root`, an exec.buffer.
bool touches(exec::InstructionOpInterface instruction, mlir::Value root);

// Returns all instructions that read or write memory of `root`, in program order.
llvm::SmallVector<exec::InstructionOpInterface> getAccesses(mlir::Value root);

// Returns the exec.buffer op at the root of a buffer or view.
exec::BufferOp getRootOp(mlir::Value buffer);

} // namespace dtc

// Which instructions must keep their order.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// The memory that an instruction reads and writes.
struct AccessRanges {
  llvm::SmallVector<exec::BufferRange, 4> reads, writes;

  AccessRanges() = default;
  explicit AccessRanges(exec::InstructionOpInterface instruction);
  void add(const AccessRanges &other);
  // Whether one writes what the other reads or writes. Conservative by byte range.
  bool conflictsWith(const AccessRanges &other) const;
};

bool conflict(exec::InstructionOpInterface a, exec::InstructionOpInterface b);

// Whether the instruction reads or writes memory of `root`, an exec.buffer.
bool touches(exec::InstructionOpInterface instruction, mlir::Value root);

// All instructions that read or write memory of `root`, in program order.
llvm::SmallVector<exec::InstructionOpInterface> getAccesses(mlir::Value root);

// The exec.buffer op at the root of a buffer or view.
exec::BufferOp getRootOp(mlir::Value buffer);

} // namespace dtc

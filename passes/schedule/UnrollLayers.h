// Unrolls the repeats of a program.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// True if a task of the program has an exec.repeat.
bool hasLayers(exec::ProgramOp program);

// Returns the event of a record or wait in a layer and micro-batch; -1 for other instructions.
int64_t getEvent(exec::InstructionOpInterface instruction, int64_t layer, int64_t microBatch = 0);

// Replaces every exec.repeat by the instructions of each layer, with its buffers, scalars and
// events; no exec.per_layer is left.
void unrollLayers(exec::ProgramOp program);

// An instruction in one layer, without names and source locations.
struct UnrolledInstruction {
  mlir::OperationName name;
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  llvm::SmallVector<mlir::Value> operands;

  bool operator==(const UnrolledInstruction &other) const {
    return name == other.name && attributes == other.attributes && operands == other.operands;
  }
};

// Returns the instructions of all tasks of a program, layer by layer, one task after another.
std::vector<UnrolledInstruction> listUnrolled(exec::ProgramOp program);

} // namespace dtc

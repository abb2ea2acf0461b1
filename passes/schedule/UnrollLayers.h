// Writes the repeats of a program out again.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// Whether a task of the program has an exec.repeat.
bool hasLayers(exec::ProgramOp program);

// The event of a record or wait in a layer and micro-batch, -1 where there is none; -1 of other instructions.
int64_t getEvent(exec::InstructionOpInterface instruction, int64_t layer, int64_t microBatch = 0);

// Puts the instructions of each layer, with its buffers, scalars and events, in place of every exec.repeat; no
// exec.per_layer is left.
void unrollLayers(exec::ProgramOp program);

// An instruction in one layer: all that it does. Names and places in the model are left out.
struct UnrolledInstruction {
  mlir::OperationName name;
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  llvm::SmallVector<mlir::Value> operands;

  bool operator==(const UnrolledInstruction &other) const {
    return name == other.name && attributes == other.attributes && operands == other.operands;
  }
};

// What the tasks of a program do, layer by layer, one task after another.
std::vector<UnrolledInstruction> listUnrolled(exec::ProgramOp program);

} // namespace dtc

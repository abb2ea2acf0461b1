// A table of the kinds of instructions: name, time class and description.
#pragma once

#include "runtime/format/Operands.h"

namespace dtc::format {

class Description;

// The class that the time of an instruction counts as.
enum class TimeClass : uint8_t { Kernel, Gemm, Attention, Embedding, Copy, Collective, Wait };

// The entry of one kind.
struct InstructionKind {
  const char *name = "unknown op";
  TimeClass timeClass = TimeClass::Kernel;
  void (*describe)(const Instruction &, Description &) = nullptr;
};

// Returns the entry of a kind; for an unknown value, one named "unknown op". Adding a kind to the
// union of dte.fbs without an entry here does not compile.
const InstructionKind &kindOf(Op op);

} // namespace dtc::format

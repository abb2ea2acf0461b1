// What each kind of instruction is called and counted as, and how it describes itself: one entry a
// kind, in one table.
#pragma once

#include "runtime/format/Operands.h"

namespace dtc::format {

class Description;

// What the time of an instruction is counted as.
enum class TimeClass : uint8_t { Kernel, Gemm, Attention, Embedding, Copy, Collective, Wait };

struct InstructionKind {
  const char *name = "unknown op";
  TimeClass timeClass = TimeClass::Kernel;
  void (*describe)(const Instruction &, Description &) = nullptr;
};

// The entry of a kind; one without a name of its own for a value that is none. Adding a kind to the
// union of dte.fbs without an entry here does not compile.
const InstructionKind &kindOf(Op op);

} // namespace dtc::format

// A table of the kinds of instructions: name, time class and description (Description.h).
#pragma once

#include "runtime/format/dte_generated.h"

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

// Returns the name of an op: "attention_grad" for Op::AttentionGrad; "unknown op" for an unknown
// value.
const char *opName(Op op);

// Replaces the content of `description` by that of `instruction`.
void describe(const Instruction &instruction, Description &description);

} // namespace dtc::format

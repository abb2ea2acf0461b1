// Describes a program in words, for the flight recorder and the keeper.
#pragma once

#include "runtime/exec/Binding.h"
#include "runtime/monitor/ProgramNotes.h"

namespace dtc::rt {

// Describes the program that `rank` runs; its tags are indices into BoundEntry.issues, by kind of
// entry.
ProgramNotes noteProgram(const format::Manifest &manifest, uint32_t rank, const Groups &groups,
                         const BoundProgram &bound);

// Returns what an instruction does with other ranks.
Meets meetsOf(const format::Instruction &instruction);

} // namespace dtc::rt

// What the flight recorder and the keeper need to know of a program, in words.
#pragma once

#include "runtime/exec/Binding.h"
#include "runtime/monitor/ProgramNotes.h"

namespace dtc::rt {

// Of the program that `rank` runs; its tags are BoundEntry.issues' places, by kind of entry.
ProgramNotes noteProgram(const format::Manifest &manifest, uint32_t rank, const Groups &groups,
                         const BoundProgram &bound);

// What an instruction is to other ranks.
Meets meetsOf(const format::Instruction &instruction);

} // namespace dtc::rt

// Makes device code report its memory accesses and loop iterations to the emulator.
#pragma once

#include "passes/simt/DeviceCalls.h"

namespace dtc {

// Inserts a call of the emulator before every memory access, except those to local memory,
// parameters and the module's own constants. The call does not return if the access is invalid.
// Accesses lose their alignment, since the emulator has checked it.
void addAccessChecks(llvm::Function &function, DeviceCalls &calls, Sites &sites);

// Inserts a call of the emulator into every loop that has none, so that the emulator can stop
// endless loops.
void addLoopSteps(llvm::Function &function, DeviceCalls &calls, Sites &sites);

} // namespace dtc

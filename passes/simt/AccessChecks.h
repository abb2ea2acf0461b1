// Lets the emulator check what a function accesses, and count its loops.
#pragma once

#include "passes/simt/DeviceCalls.h"

namespace dtc {

// Before every access to memory that is not local, a parameter or a constant of its own, puts a call of the emulator, which
// does not return where the access is wrong. Accesses are then without alignment: the emulator has checked that.
void addAccessChecks(llvm::Function &function, DeviceCalls &calls, Sites &sites);

// Puts a call of the emulator into every loop that has none, so that no loop can go on for ever.
void addLoopSteps(llvm::Function &function, DeviceCalls &calls, Sites &sites);

} // namespace dtc

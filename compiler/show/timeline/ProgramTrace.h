// The simulation of a program's step as a time line.
#pragma once

#include "compiler/show/timeline/ProgramSimulation.h"

namespace dtc {

// writeTrace, with the task, micro-batch, instruction and layer of every slice, as 'dtrun
// --profile' names them.
void writeProgramTrace(llvm::raw_ostream &out, const format::Manifest &manifest,
                       const ProgramSimulation &simulation);

} // namespace dtc

// Finds the collectives of data parallelism: reductions of gradients, gathers of new parameters.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// An all_reduce or reduce_scatter of a gradient, or of a packed or padded copy of one.
bool isGradientReduction(exec::CollectiveOp collective);

// An all_gather into a parameter, or into a buffer that is copied to parameters only.
bool isParameterGather(exec::CollectiveOp collective);

// The copies and zeros that make the source of a gradient reduction, in program order.
llvm::SmallVector<exec::InstructionOpInterface> getPacking(exec::CollectiveOp collective);

// Joins all_reduces of one buffer that follow each other, in place and over different axes, into
// one over all of them.
void joinReductions(exec::ProgramOp program);

// Moves every gradient reduction, with its packing, to right after the last instruction that it
// depends on.
void hoistGradientReductions(exec::ProgramOp program);

} // namespace dtc

// The collectives that travel beside compute: reductions of gradients, gathers of parameters.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// An all_reduce or reduce_scatter of gradients that compute does not wait for.
bool isGradientReduction(exec::CollectiveOp collective);

// An all_gather of parameters that compute does not wait for.
bool isParameterGather(exec::CollectiveOp collective);

// The copies and zeros that pack or pad the source of a collective, in program order; none where
// the source is made in another way, or added up.
llvm::SmallVector<exec::InstructionOpInterface> getPacking(exec::CollectiveOp collective);

// The copies out of the destination of a collective, where nothing else uses that, and they can be
// made right after it: nothing between depends on them.
llvm::SmallVector<exec::CopyOp> getUnpacking(exec::CollectiveOp collective);

// Joins all_reduces of one buffer that follow each other, in place and over different axes, into
// one over all of them.
void joinReductions(exec::ProgramOp program);

// Moves every gradient reduction, with its packing and the kernels that round for it, to right after
// the last instruction that it depends on; there it runs in the last micro-batch, unless every
// micro-batch reduces its own. Then what adds the result to a sum follows it, or where that has to be
// widened first, the last reduction of what the same execution of a block has made.
void hoistGradientReductions(exec::ProgramOp program);

} // namespace dtc

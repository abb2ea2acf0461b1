// The collectives that overlap with compute: reductions of gradients, gathers of parameters.
#pragma once

#include "dialects/exec/Exec.h"

namespace dtc {

// True for an all_reduce or reduce_scatter of gradients that compute does not wait for.
bool isGradientReduction(exec::CollectiveOp collective);

// True for an all_gather of parameters that compute does not wait for.
bool isParameterGather(exec::CollectiveOp collective);

// Returns the copies and zeros that pack or pad the source of a collective, in program order; empty
// if the source is made in another way, or accumulated.
llvm::SmallVector<exec::InstructionOpInterface> getPacking(exec::CollectiveOp collective);

// Returns the copies out of the destination of a collective, if they are its only uses and can run
// right after it: nothing between depends on them.
llvm::SmallVector<exec::CopyOp> getUnpacking(exec::CollectiveOp collective);

// Joins consecutive in-place all_reduces of one buffer over different axes into one over all of
// them.
void joinReductions(exec::ProgramOp program);

// Moves every gradient reduction, with its packing and the kernels that round for it, right after
// the last instruction that it depends on. It runs in the last micro-batch, unless every
// micro-batch reduces its own gradients. In that case the copy that adds the result to a sum
// follows it, or, if the result is widened first, follows the last reduction of the same execution
// of a block.
void hoistGradientReductions(exec::ProgramOp program);

} // namespace dtc

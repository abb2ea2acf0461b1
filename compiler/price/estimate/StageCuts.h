// Cuts of a model into stages. Internal to this folder.
#pragma once

#include "compiler/price/estimate/LayerMixes.h"

namespace dtc {

// Returns the usual cut: the slowest chunk is as fast as possible, and what stages recompute to fit
// does not count.
LayerChunks usualCut(const StageInputs &in);

// Returns a lower bound of the slowest stage's seconds of a micro-batch in the best of all cuts,
// from the stages of the usual one without more recomputation.
double slowestOfAnyCut(const StageInputs &in, llvm::ArrayRef<StageEstimate> usual);

// Returns true if another cut than the usual one may have more equal stages. `leastSlowest` is
// slowestOfAnyCut. Stages of one chunk each are as equal as can be, but not those of several
// chunks: the usual cut has the fastest slowest chunk.
bool mayBalance(const StageInputs &in, llvm::ArrayRef<StageEstimate> stages, double leastSlowest);

// Returns a cut whose slowest stage is faster, as it considers memory or the chunks that a stage
// has together; empty if that of `stages`, the usual cut, is as fast, or if no cut fits. Early
// stages keep more micro-batches alive and have to recompute more if memory is short: with fewer
// layers they are as fast as late ones. If layers have no mixes, only stages that fit as they are
// count.
LayerChunks cutByStages(const StageInputs &in, const LayerMixes &mixes,
                        llvm::ArrayRef<StageEstimate> stages);

} // namespace dtc

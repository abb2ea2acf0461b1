// The functions of one instruction set, for its table in GemmTiles.cpp. IsaKernels.h describes
// them.
#pragma once

#include "kernels/cpu/IsaKernels.h"

namespace dtc::cpu::DTC_ISA {

// Returns the floats of workspace that attentionUnit needs.
int64_t attentionWorkspace(const AttentionArgs &args);
// Computes a range of queries of one kv head (IsaKernels::attentionUnit).
void attentionUnit(const AttentionArgs &args, int64_t batchIndex, int64_t kvHead,
                   int64_t queryBegin, int64_t queryEnd, float *workspace);
// Computes rowsum(dout * out) of one head into the scratch (IsaKernels::attentionDelta).
void attentionDelta(const AttentionGradArgs &args, int64_t batchIndex, int64_t head);
// Returns the floats of workspace that attentionGradUnit needs.
int64_t attentionGradWorkspace(const AttentionArgs &args);
// Computes the gradients of one range (IsaKernels::attentionGradUnit).
void attentionGradUnit(const AttentionGradArgs &args, const AttentionGradRange &range,
                       float *workspace);

// Adds dbias of one query head (IsaKernels::attentionBiasUnit).
void attentionBiasUnit(const AttentionGradArgs &args, const AttentionGradRange &range, int64_t head,
                       float *workspace);

} // namespace dtc::cpu::DTC_ISA

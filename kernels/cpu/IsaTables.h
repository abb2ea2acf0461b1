// The functions of one instruction set, for its table in GemmTiles.cpp.
#pragma once

#include "kernels/cpu/IsaKernels.h"

namespace dtc::cpu::DTC_ISA {

int64_t attentionWorkspace(const AttentionArgs &args);
void attentionUnit(const AttentionArgs &args, int64_t batchIndex, int64_t kvHead,
                   int64_t queryBegin, int64_t queryEnd, float *workspace);
void attentionDelta(const AttentionGradArgs &args, int64_t batchIndex, int64_t head);
int64_t attentionGradWorkspace(const AttentionArgs &args);
void attentionGradUnit(const AttentionGradArgs &args, const AttentionGradRange &range,
                       float *workspace);

void widen(ElementType type, const void *from, float *to, int64_t count);
void narrow(ElementType type, const float *from, void *to, int64_t count);

} // namespace dtc::cpu::DTC_ISA

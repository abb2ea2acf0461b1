// Conversions of 16-bit numbers, for one instruction set.
#pragma once

#include "kernels/cpu/IsaKernels.h"

namespace dtc::cpu::DTC_ISA {

// Converts `count` elements of `type` to f32.
void widen(ElementType type, const void *from, float *to, int64_t count);
// Rounds `count` f32 to `type`, to nearest even.
void narrow(ElementType type, const float *from, void *to, int64_t count);

} // namespace dtc::cpu::DTC_ISA

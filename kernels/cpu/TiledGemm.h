// Matrix products with register tiles.
#pragma once

#include "kernels/cpu/GemmArgs.h"

namespace dtc::cpu {

class ThreadPool;

// Multiplies with this library's register tiles, one matrix at a time: panels of B are packed
// together, then every thread packs its rows of A and multiplies. The bits of the result do not
// depend on the division of the work.
void tiledGemm(const GemmArgs &args, ThreadPool &pool);

} // namespace dtc::cpu

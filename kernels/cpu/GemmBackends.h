// The three ways to compute a matrix product; gemm() chooses among them by GemmTable.
#pragma once

#include "kernels/cpu/GemmTable.h"
#include "kernels/cpu/Kernels.h"

namespace dtc::cpu {

// One library call on the calling thread: C = alpha * op(A) * op(B) + beta * C, `batch` ignored.
void libraryGemm(GemmBackend backend, const GemmArgs &args);

// Own register tiles, one matrix at a time: panels of B are packed together, then every thread
// packs its rows of A and multiplies. Bitwise independent of how the work is cut.
void tiledGemm(const GemmArgs &args, ThreadPool &pool);

// gemm() with the choice made by the caller; for benchmarks and tests.
void gemmWithPlan(const GemmArgs &args, const GemmPlan &plan, ThreadPool &pool);

} // namespace dtc::cpu

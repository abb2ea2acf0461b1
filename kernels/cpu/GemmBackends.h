// The three ways to compute a matrix product; gemm() chooses among them by GemmTable.
#pragma once

#include "kernels/cpu/GemmTable.h"
#include "kernels/cpu/Kernels.h"

namespace dtc::cpu {

// Makes library calls of this thread use this thread only. Any variant of OpenBLAS gives right
// results, but Debian's openmp one is the one to install: it starts no threads when it is loaded,
// as the pthread one does, it shares the libgomp that oneDNN brings anyway, and, unlike the serial
// one, its buffers are locked against calls from several threads.
void keepLibrariesOnThisThread();

// One library call on the calling thread: C = alpha * op(A) * op(B) + beta * C, `batch` ignored.
void libraryGemm(GemmBackend backend, const GemmArgs &args);

// Whether this processor multiplies numbers of the type, and oneDNN has products of it.
bool hasLibraryProducts(ElementType type);

// One call of oneDNN on the calling thread, `batch` ignored; false where it does not take such operands.
bool libraryNarrowGemm(const NarrowGemmArgs &args);

// Own register tiles, one matrix at a time: panels of B are packed together, then every thread
// packs its rows of A and multiplies. Bitwise independent of how the work is cut.
void tiledGemm(const GemmArgs &args, ThreadPool &pool);

// narrowGemm() where no library has the products: operands become f32 when they are packed.
void packedNarrowGemm(const NarrowGemmArgs &args, ThreadPool &pool);

// gemm() with the choice made by the caller; for benchmarks and tests.
void gemmWithPlan(const GemmArgs &args, const GemmPlan &plan, ThreadPool &pool);

} // namespace dtc::cpu

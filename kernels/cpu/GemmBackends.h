// The three implementations of a matrix product; gemm() chooses among them by GemmTable.
#pragma once

#include "kernels/cpu/GemmTable.h"
#include "kernels/cpu/Kernels.h"

namespace dtc::cpu {

// Limits library calls of this thread to this thread. Any variant of OpenBLAS gives correct
// results, but Debian's openmp variant is the one to install: it starts no threads when it is
// loaded, as the pthread variant does; it shares the libgomp that oneDNN brings anyway; and, unlike
// those of the serial variant, its buffers are locked against calls from several threads.
void keepLibrariesOnThisThread();

// Calls a library on the calling thread: C = alpha * op(A) * op(B) + beta * C, `batch` ignored.
void libraryGemm(GemmBackend backend, const GemmArgs &args);

// True if this processor multiplies numbers of the type, and oneDNN has a matrix product for it.
bool hasLibraryProducts(ElementType type);

// Calls oneDNN on the calling thread, `batch` ignored; returns false if it does not accept the
// operands.
bool libraryNarrowGemm(const NarrowGemmArgs &args);

// Multiplies with this library's register tiles, one matrix at a time: panels of B are packed
// together, then every thread packs its rows of A and multiplies. The bits of the result do not
// depend on the division of the work.
void tiledGemm(const GemmArgs &args, ThreadPool &pool);

// Computes narrowGemm() if no library supports the type: packing converts operands to f32.
void packedNarrowGemm(const NarrowGemmArgs &args, ThreadPool &pool);

// Computes gemm() with the given plan; for benchmarks and tests.
void gemmWithPlan(const GemmArgs &args, const GemmPlan &plan, ThreadPool &pool);

} // namespace dtc::cpu

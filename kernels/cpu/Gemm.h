// Matrix products of f32.
//
// Sizes and strides are in elements, and tensors are row-major. The kernel splits its work over the
// given pool and gives bitwise the same result for any number of threads.
#pragma once

#include "kernels/cpu/GemmArgs.h"
#include "kernels/cpu/GemmTable.h"

namespace dtc::cpu {

class ThreadPool;

// Computes the matrix product of `args`.
void gemm(const GemmArgs &args, ThreadPool &pool);

// Limits library calls of this thread to this thread. Any variant of OpenBLAS gives correct
// results, but Debian's openmp variant is the one to install: it starts no threads when it is
// loaded, as the pthread variant does; it shares the libgomp that oneDNN brings anyway; and, unlike
// those of the serial variant, its buffers are locked against calls from several threads.
void keepLibrariesOnThisThread();

// Calls a library on the calling thread: C = alpha * op(A) * op(B) + beta * C, `batch` ignored.
void libraryGemm(GemmBackend backend, const GemmArgs &args);

// Computes gemm() with the given plan; for benchmarks and tests.
void gemmWithPlan(const GemmArgs &args, const GemmPlan &plan, ThreadPool &pool);

} // namespace dtc::cpu

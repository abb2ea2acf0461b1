// Matrix products: special cases, the split into independent pieces, and the library calls.
#include "kernels/cpu/Gemm.h"

#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/OutOfMemory.h"
#include "kernels/cpu/ThreadPool.h"
#include "kernels/cpu/TiledGemm.h"

#include <algorithm>
#include <cblas.h>
#include <dnnl.h>
#include <mutex>
#include <utility>
#include <vector>

// Sets the number of threads of libgomp, which runs oneDNN's loops, for the calling thread.
// Declared here because clang's omp.h belongs to another runtime.
extern "C" void omp_set_num_threads(int count);

namespace dtc::cpu {

namespace {

// Computes C = beta * C; 0 * C is 0 even if C holds NaN.
void scaleMatrix(float *c, int64_t ldc, int64_t rows, int64_t columns, float beta) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
}

const float *rowsOfA(const GemmArgs &args, int64_t row) {
  return args.a + (args.transA ? row : row * args.lda);
}

const float *columnsOfB(const GemmArgs &args, int64_t column) {
  return args.b + (args.transB ? column * args.ldb : column);
}

// Makes oneDNN generate its code, which it does at the first matrix product of each kind.
void makeProductsOfOneDnn() {
  constexpr dnnl_dim_t size = 64;
  std::vector<float> operand(size * size), result(size * size);
  for (char transA : {'N', 'T'})
    for (char transB : {'N', 'T'})
      for (float beta : {0.0f, 1.0f})
        (void)dnnl_sgemm(transA, transB, size, size, size, 1, operand.data(), size, operand.data(),
                         size, beta, result.data(), size);
}

// Makes libraries allocate here the memory that they take at the first calls of a thread. Threads
// do so one after another, so that none takes the memory that another has checked for.
void takeLibraries() {
  static std::mutex mutex;
  static bool isFirst = true;
  std::lock_guard lock(mutex);
  needMemory(libraryBytes);
  omp_set_num_threads(1);
  if (std::exchange(isFirst, false)) {
    openblas_set_num_threads(1);
    makeProductsOfOneDnn();
  }
}

GemmArgs matrixOfBatch(GemmArgs args, int64_t index) {
  args.a += index * args.strideA;
  args.b += index * args.strideB;
  args.c += index * args.strideC;
  args.batch = 1;
  return args;
}

} // namespace

void keepLibrariesOnThisThread() {
  thread_local const bool isReady = (takeLibraries(), true);
  (void)isReady;
}

void libraryGemm(GemmBackend backend, const GemmArgs &args) {
  keepLibrariesOnThisThread();
  if (backend == GemmBackend::OneDnn) {
    dnnl_status_t status =
        dnnl_sgemm(args.transA ? 'T' : 'N', args.transB ? 'T' : 'N', args.m, args.n, args.k,
                   args.alpha, args.a, args.lda, args.b, args.ldb, args.beta, args.c, args.ldc);
    if (status == dnnl_success)
      return;
    // OpenBLAS computes the matrix product if oneDNN refuses it (it checks leading dimensions more
    // strictly than it needs to) or is out of memory.
  }
  cblas_sgemm(CblasRowMajor, args.transA ? CblasTrans : CblasNoTrans,
              args.transB ? CblasTrans : CblasNoTrans, static_cast<blasint>(args.m),
              static_cast<blasint>(args.n), static_cast<blasint>(args.k), args.alpha, args.a,
              static_cast<blasint>(args.lda), args.b, static_cast<blasint>(args.ldb), args.beta,
              args.c, static_cast<blasint>(args.ldc));
}

void gemmWithPlan(const GemmArgs &args, const GemmPlan &plan, ThreadPool &pool) {
  if (plan.backend == GemmBackend::Tiles) {
    if (args.batch == 1)
      return tiledGemm(args, pool);
    pool.parallelFor(args.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        tiledGemm(matrixOfBatch(args, i), pool); // inline in the loop, unless the loop is
    });
    return;
  }
  int64_t tilesM = (args.m + plan.tileM - 1) / plan.tileM;
  int64_t tilesN = (args.n + plan.tileN - 1) / plan.tileN;
  pool.parallelFor(args.batch * tilesM * tilesN, 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      GemmArgs part = matrixOfBatch(args, tile / (tilesM * tilesN));
      // Goes through rows first: neighbours share the columns of B, the larger operand in the LM
      // head.
      int64_t row = tile % tilesM * plan.tileM, column = tile / tilesM % tilesN * plan.tileN;
      part.m = std::min(plan.tileM, args.m - row);
      part.n = std::min(plan.tileN, args.n - column);
      part.a = rowsOfA(part, row);
      part.b = columnsOfB(part, column);
      part.c += row * args.ldc + column;
      libraryGemm(plan.backend, part);
    }
  });
}

void gemm(const GemmArgs &args, ThreadPool &pool) {
  if (args.m == 0 || args.n == 0 || args.batch == 0)
    return;
  if (args.k == 0 || args.alpha == 0) {
    pool.parallelFor(args.batch * args.m, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        scaleMatrix(args.c + row / args.m * args.strideC + row % args.m * args.ldc, args.ldc, 1,
                    args.n, args.beta);
    });
    return;
  }
  GemmShape shape{args.m, args.n, args.k, args.batch, args.transA, args.transB};
  gemmWithPlan(args, chooseGemm(shape, isaKernels().tileColumns / 2), pool);
}

} // namespace dtc::cpu

// The choice of code for a matrix product by its shape.
#pragma once

#include <cstdint>

namespace dtc::cpu {

// The implementations of a matrix product.
enum class GemmBackend {
  OneDnn,   // dnnl_sgemm on tiles of C
  OpenBlas, // cblas_sgemm on tiles of C
  Tiles,    // this library's register tiles; operands packed once for all threads
};

// The shape of a matrix product: op(A) is [m, k], op(B) is [k, n].
struct GemmShape {
  int64_t m, n, k, batch;
  bool transA, transB;
};

// The plan of a matrix product: the code, and the tiles of C that one library call computes. They
// depend on the shape only, never on the number of threads, because a library may choose the order
// of its sums by the size of the call.
struct GemmPlan {
  GemmBackend backend;
  int64_t tileM, tileN;
};

// Returns the plan for a shape. `lanes` is 8 for AVX2 and 16 for AVX-512. Example:
// chooseGemm({1024, 3072, 768, 1, false, true}, 16).
GemmPlan chooseGemm(const GemmShape &shape, int lanes);

// Returns the plan of a matrix product that is left to a library.
GemmPlan cutForLibrary(GemmBackend backend, const GemmShape &shape);

// Returns "oneDNN", "OpenBLAS" or "tiles".
const char *gemmBackendName(GemmBackend backend);

} // namespace dtc::cpu

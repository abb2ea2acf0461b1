// Which code computes a matrix product, by the class of its shape.
#pragma once

#include <cstdint>

namespace dtc::cpu {

enum class GemmBackend {
  OneDnn,   // dnnl_sgemm on tiles of C
  OpenBlas, // cblas_sgemm on tiles of C
  Tiles,    // own register tiles; operands packed once for all threads
};

struct GemmShape {
  int64_t m, n, k, batch;
  bool transA, transB;
};

// Tiles of C that one library call computes; they depend on the shape only, never on the number of
// threads, because a library may order its sums by the size that it is given.
struct GemmPlan {
  GemmBackend backend;
  int64_t tileM, tileN;
};

// `lanes` is 8 for AVX2 and 16 for AVX-512. Example: chooseGemm({1024, 3072, 768, 1, false, true},
// 16).
GemmPlan chooseGemm(const GemmShape &shape, int lanes);

// The tiles of a product that is left to a library.
GemmPlan cutForLibrary(GemmBackend backend, const GemmShape &shape);

const char *gemmBackendName(GemmBackend backend);

} // namespace dtc::cpu

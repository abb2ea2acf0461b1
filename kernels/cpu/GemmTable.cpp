// The table of measured choices for matrix products.
#include "kernels/cpu/GemmTable.h"

#include <algorithm>

namespace dtc::cpu {

GemmPlan chooseGemm(const GemmShape &shape, int lanes) {
  (void)lanes;
  const int64_t m = shape.m, n = shape.n, shortest = std::min(m, n);
  if (m * n * shape.k < 24 * 24 * 24)
    return {GemmBackend::OpenBlas, m, n};
  if (shape.batch >= 8 || shortest < 48 || (!shape.transA && !shape.transB)) {
    if (shape.batch >= 8)
      return {GemmBackend::OneDnn, m, n};
    return {GemmBackend::OneDnn, std::min<int64_t>(m, 256), std::min<int64_t>(n, 768)};
  }
  return {GemmBackend::Tiles, m, n};
}

const char *gemmBackendName(GemmBackend backend) {
  switch (backend) {
  case GemmBackend::OneDnn:
    return "oneDNN";
  case GemmBackend::OpenBlas:
    return "OpenBLAS";
  case GemmBackend::Tiles:
    return "tiles";
  }
  return "";
}

} // namespace dtc::cpu

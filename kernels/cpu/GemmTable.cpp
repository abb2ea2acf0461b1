// The table of measured choices for matrix products.
#include "kernels/cpu/GemmTable.h"

#include <algorithm>

namespace dtc::cpu {

GemmPlan chooseGemm(const GemmShape &shape, int lanes) {
  (void)lanes;
  int64_t work = shape.m * shape.n * shape.k;
  if (work <= 32 * 32 * 32)
    return {GemmBackend::OpenBlas, shape.m, shape.n};
  return {GemmBackend::OneDnn, std::min<int64_t>(shape.m, 256), std::min<int64_t>(shape.n, 768)};
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

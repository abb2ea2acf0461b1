#include "runtime/cuda/BlasLt.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/SharedLibrary.h"

namespace dtc::rt::cu {

Status openBlasLt(BlasLt &blas, int driverVersion) {
  const LibrarySymbol symbols[] = {
#define DTC_BLASLT(name, result, parameters) {#name, reinterpret_cast<void **>(&blas.name)},
#include "runtime/cuda/BlasLt.def"
#undef DTC_BLASLT
  };
  std::vector<std::string> files = {"libcublasLt.so.12"};
  if (driverVersion >= 13000)
    files.insert(files.begin(), "libcublasLt.so.13");
  return openLibrary({.what = "cuBLASLt, which programs for GPUs multiply matrices with,",
                      .files = files,
                      .mend = "install NVIDIA's cuBLAS, or name its folder in LD_LIBRARY_PATH"},
                     symbols);
}

Status check(const BlasLt &blas, const char *call, BlasStatus status) {
  if (status == 0)
    return {};
  const char *words = blas.cublasLtGetStatusString(status);
  return Status::unavailable(format::text(call, ": ", words ? words : "no reason given"));
}

} // namespace dtc::rt::cu

#include "runtime/cuda/Nccl.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/SharedLibrary.h"

namespace dtc::rt::cu {

Status openNccl(Nccl &nccl) {
  const LibrarySymbol symbols[] = {
#define DTC_NCCL(name, result, parameters) {#name, reinterpret_cast<void **>(&nccl.name)},
#include "runtime/cuda/Nccl.def"
#undef DTC_NCCL
  };
  return openLibrary({.what = "NCCL, by which ranks on several GPUs exchange data,",
                      .files = {"libnccl.so.2"},
                      .mend = "install NVIDIA's NCCL 2.19 or later, or name its folder in "
                              "LD_LIBRARY_PATH"},
                     symbols);
}

Status check(const Nccl &nccl, const char *call, NcclResult result) {
  if (result == ncclSuccess || result == ncclInProgress)
    return {};
  const char *words = nccl.ncclGetErrorString(result), *last = nccl.ncclGetLastError(nullptr);
  return Status::unavailable(format::text(call, ": ", words ? words : "no reason given",
                                          last && *last ? ": " : "", last ? last : ""));
}

} // namespace dtc::rt::cu

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
  const char *what = "NCCL, by which ranks on several GPUs exchange data,",
             *mend = "install NVIDIA's NCCL 2.27.3 or later, or name its folder in LD_LIBRARY_PATH";
  DTC_RETURN_IF_ERROR(
      openLibrary({.what = what, .files = {"libnccl.so.2"}, .mend = mend}, symbols));
  DTC_NCCL_CALL(nccl, ncclGetVersion, &nccl.version);
  return {};
}

Status check(const Nccl &nccl, const char *call, NcclResult result) {
  if (result == ncclSuccess || result == ncclInProgress)
    return {};
  const char *words = nccl.ncclGetErrorString(result), *last = nccl.ncclGetLastError(nullptr);
  return Status::unavailable(format::text(call, ": ", words ? words : "no reason given",
                                          last && *last ? ": " : "", last ? last : ""));
}

} // namespace dtc::rt::cu

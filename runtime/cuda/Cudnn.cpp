#include "runtime/cuda/Cudnn.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/SharedLibrary.h"

#include <array>

namespace dtc::rt::cu {

// 9.10.2: earlier versions have faults in the gradient that NVIDIA's own frontend works around
// (9.10.0, 9.10.1), or require keys padded to 128, or the lowest number instead of -inf (before
// 9.10).
static constexpr size_t kLeastCudnn = 91002;

Status openCudnn(Cudnn &cudnn) {
  const LibrarySymbol symbols[] = {
#define DTC_CUDNN(name, result, parameters) {#name, reinterpret_cast<void **>(&cudnn.name)},
#include "runtime/cuda/Cudnn.def"
#undef DTC_CUDNN
  };
  const char *what = "cuDNN, which may be faster at attention,",
             *mend =
                 "install NVIDIA's cuDNN 9.10.2 or later, or name its folder in LD_LIBRARY_PATH";
  DTC_RETURN_IF_ERROR(
      openLibrary({.what = what, .files = {"libcudnn.so.9"}, .mend = mend}, symbols));
  if (size_t version = cudnn.cudnnGetVersion(); version < kLeastCudnn)
    return Status::unavailable(format::text(what, " is version ", version / 10000, ".",
                                            version / 100 % 100, ".", version % 100, ": ", mend));
  return {};
}

Status checkCudnn(const Cudnn &cudnn, const char *call, CudnnStatus status) {
  if (status == cudnnSuccess)
    return {};
  const char *words = cudnn.cudnnGetErrorString(status);
  std::array<char, 512> last{};
  cudnn.cudnnGetLastErrorString(last.data(), last.size() - 1);
  return Status::unavailable(format::text(call, ": ", words ? words : "no reason given",
                                          last[0] ? ": " : "", last.data()));
}

} // namespace dtc::rt::cu

#include "runtime/cuda/Driver.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/SharedLibrary.h"

namespace dtc::rt::cu {

using format::text;

Status openDriver(Driver &driver) {
  const LibrarySymbol symbols[] = {
#define DTC_CU(name, symbol, parameters) {symbol, reinterpret_cast<void **>(&driver.name)},
#include "runtime/cuda/Driver.def"
#undef DTC_CU
  };
  return openLibrary({.what = "the driver of NVIDIA's GPUs",
                      .files = {"libcuda.so.1"},
                      .mend =
                          "run on a machine with an NVIDIA GPU and a driver of CUDA 12 or later, "
                          "or recompile with dtc for device cpu"},
                     symbols);
}

static StatusCode codeOf(Result result) {
  if (result == errorOutOfMemory)
    return StatusCode::ResourceExhausted;
  return result >= errorIllegalAddress && result <= errorLaunchFailed ? StatusCode::Internal
                                                                      : StatusCode::Unavailable;
}

Status check(const Driver &driver, const char *call, Result result) {
  if (result == success)
    return {};
  const char *name = nullptr, *words = nullptr;
  if (driver.cuGetErrorName(result, &name) != success || !name)
    name = "an error without a name";
  if (driver.cuGetErrorString(result, &words) != success || !words)
    words = "no reason given";
  return {codeOf(result), text(call, ": ", name, ": ", words)};
}

} // namespace dtc::rt::cu

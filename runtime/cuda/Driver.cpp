#include "runtime/cuda/Driver.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/SharedLibrary.h"

namespace dtc::rt::cu {

using format::text;

Status openDriver(Driver &driver) {
  const LibrarySymbol symbols[] = {
#define DTC_CU(name, symbol, parameters) {symbol, reinterpret_cast<void **>(&driver.name)},
#define DTC_CU_MAYBE(name, symbol, parameters)                                                     \
  {symbol, reinterpret_cast<void **>(&driver.name), false},
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

void leaveAll(Driver &driver) {
  driver.cuCtxSynchronize = [] { return success; };
  driver.cuMemFree = [](DevicePtr) { return success; };
  driver.cuMemUnmap = [](DevicePtr, size_t) { return success; };
  driver.cuMemAddressFree = [](DevicePtr, size_t) { return success; };
  driver.cuMemFreeHost = [](void *) { return success; };
  driver.cuModuleUnload = [](Module) { return success; };
  driver.cuStreamDestroy = [](Stream) { return success; };
  driver.cuEventDestroy = [](Event) { return success; };
  driver.cuGraphExecDestroy = [](GraphExec) { return success; };
  driver.cuDevicePrimaryCtxRelease = [](Device) { return success; };
}

// True for errors after which no call on the context succeeds.
static bool isSticky(Result result) {
  constexpr Result eccUncorrectable = 214, nvlinkUncorrectable = 220, launchTimeout = 702,
                   contextIsDestroyed = 709, assertion = 710, hardwareStackError = 714;
  return result == eccUncorrectable || result == nvlinkUncorrectable ||
         result == errorIllegalAddress || result == launchTimeout || result == contextIsDestroyed ||
         result == assertion || (result >= hardwareStackError && result <= errorLaunchFailed);
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
  if (isSticky(result))
    *driver.isLost = true;
  const char *name = nullptr, *words = nullptr;
  if (driver.cuGetErrorName(result, &name) != success || !name)
    name = "an error without a name";
  if (driver.cuGetErrorString(result, &words) != success || !words)
    words = "no reason given";
  return {codeOf(result), text(call, ": ", name, ": ", words)};
}

} // namespace dtc::rt::cu

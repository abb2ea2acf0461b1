// The fake driver: its table, errors, GPUs and contexts.
#include "runtime/fakecuda/FakeDriver.h"

#include <algorithm>
#include <cstring>

namespace dtc::rt::fake {
namespace driver {

Result cuInit(unsigned flags) {
  DTC_FAKE_DRIVER(true)
  return flags == 0 ? cu::success : cu::errorInvalidValue;
}

namespace {

struct ErrorWords {
  Result code;
  const char *name, *words;
};
constexpr ErrorWords errorWords[] = {
    {cu::success, "CUDA_SUCCESS", "no error"},
    {cu::errorInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cu::errorOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {cu::errorInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {cu::errorInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {cu::errorInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {cu::errorOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM",
     "OS call failed or operation not "
     "supported on this OS"},
    {cu::errorInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {cu::errorNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {cu::errorNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {cu::errorCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {cu::errorCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {cu::errorCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {cu::errorCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {cu::errorCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {cu::errorCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {cu::errorCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
};
} // namespace

Result cuGetErrorName(Result error, const char **name) {
  const auto *found = std::find_if(std::begin(errorWords), std::end(errorWords),
                                   [error](const ErrorWords &each) { return each.code == error; });
  *name = error == cu::errorIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : found == std::end(errorWords)  ? nullptr
                                           : found->name;
  return *name ? cu::success : cu::errorInvalidValue;
}

// Returns the text of an error; for a fault, the emulator's finding. That text stays valid, since
// there is one fault at most.
Result cuGetErrorString(Result error, const char **words) {
  const auto *found = std::find_if(std::begin(errorWords), std::end(errorWords),
                                   [error](const ErrorWords &each) { return each.code == error; });
  *words = found == std::end(errorWords) ? nullptr : found->words;
  if (error == cu::errorIllegalAddress)
    *words = machine().faultWords.c_str();
  return *words ? cu::success : cu::errorInvalidValue;
}

Result cuDeviceGetCount(int *count) {
  DTC_FAKE_DRIVER(true)
  *count = static_cast<int>(m.gpus.size());
  return cu::success;
}

Result cuDeviceGet(cu::Device *device, int ordinal) {
  DTC_FAKE_DRIVER(true)
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= m.gpus.size())
    return cu::errorInvalidDevice;
  *device = ordinal;
  return cu::success;
}

Result cuDeviceGetName(char *name, int length, cu::Device device) {
  DTC_FAKE_DRIVER(true)
  constexpr std::string_view words = "emulated";
  auto size = std::min<size_t>(words.size(), static_cast<size_t>(length) - 1);
  std::memcpy(name, words.data(), size);
  name[size] = 0;
  return cu::success;
}

Result cuDriverGetVersion(int *version) {
  DTC_FAKE_DRIVER(true)
  *version = m.options.driverVersion;
  return cu::success;
}

Result cuDeviceGetAttribute(int *value, int attribute, cu::Device device) {
  DTC_FAKE_DRIVER(true)
  switch (attribute) {
  case cu::attributeMajor:
    *value = 10; // code for all architectures is the same here
    return cu::success;
  case cu::attributeMinor:
    *value = 0;
    return cu::success;
  case cu::attributeMaxSharedOptin:
    *value = static_cast<int>(m.options.sharedBytes);
    return cu::success;
  case cu::attributePciBus: // the same in every process, as all emulate the same GPUs
    *value = m.options.oneGpu ? 1 : device + 1;
    return cu::success;
  case cu::attributeVirtualMemory:
  case cu::attributeMemoryAsFile:
  case cu::attributeDirectNetwork:
    *value = m.options.maps ? 1 : 0;
    return cu::success;
  case cu::attributeMemoryOnFabric:
    *value = m.options.fabric != FakeCudaOptions::NoFabric;
    return cu::success;
  case cu::attributePciDevice:
  case cu::attributePciDomain:
    *value = 0;
    return cu::success;
  default:
    return cu::errorInvalidValue;
  }
}

Result cuDevicePrimaryCtxRetain(cu::Context *context, cu::Device device) {
  DTC_FAKE_DRIVER(true)
  FakeGpu &gpu = *m.gpus[static_cast<size_t>(device)];
  ++gpu.contexts;
  ++m.alive["context"];
  *context = reinterpret_cast<cu::Context>(&gpu);
  return cu::success;
}

Result cuDevicePrimaryCtxRelease(cu::Device device) {
  DTC_FAKE_DRIVER_FREE
  --m.gpus[static_cast<size_t>(device)]->contexts;
  --m.alive["context"];
  return entered;
}

Result cuCtxSetCurrent(cu::Context context) {
  DTC_FAKE_DRIVER(true)
  for (size_t i = 0; i < m.gpus.size(); ++i)
    if (reinterpret_cast<cu::Context>(m.gpus[i].get()) == context)
      Machine::currentGpu = static_cast<int>(i);
  return cu::success;
}

Result cuCtxSynchronize() {
  DTC_FAKE_DRIVER(false)
  int gpu = Machine::currentGpu;
  m.runUntil(lock, [&] { return m.isIdle(gpu); });
  return m.fault;
}

Result cuMemGetInfo(size_t *unused, size_t *total) {
  DTC_FAKE_DRIVER(true)
  *total = m.options.memoryBytes;
  *unused = *total - m.current().used;
  return cu::success;
}

} // namespace driver

void fillDriver(cu::Driver &table) {
#define DTC_CU(name, symbol, parameters) table.name = driver::name;
#include "runtime/cuda/Driver.def"
#undef DTC_CU
}

} // namespace dtc::rt::fake

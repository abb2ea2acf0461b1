// Reads the device's properties. NVML is opened at run time, because no toolkit package has its
// header.
#include "Device.h"

#include "Check.h"

#include <dlfcn.h>

DeviceFacts factsOf(int device) {
  DeviceFacts facts;
  cudaDeviceProp properties{};
  CHECK_CUDA(cudaGetDeviceProperties(&properties, device));
  facts.name = properties.name;
  facts.major = properties.major;
  facts.minor = properties.minor;
  facts.units = properties.multiProcessorCount;
  facts.cacheBytes = properties.l2CacheSize;
  size_t free = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  facts.freeBytes = int64_t(free);
  CHECK_CUDA(cudaGetDeviceCount(&facts.count));
  CHECK_CUDA(cudaRuntimeGetVersion(&facts.runtime));
  facts.cublasLt = int64_t(cublasLtGetVersion());
  return facts;
}

namespace {

// The part of NVML that is used, with the fixed values of nvml.h.
using Handle = void *;
constexpr unsigned smClock = 1, memoryClock = 2, gpuTemperature = 0;

class Nvml {
public:
  Nvml() {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    auto init = find<int()>("nvmlInit_v2");
    ready = init && init() == 0;
  }
  ~Nvml() {
    if (ready)
      if (auto shutdown = find<int()>("nvmlShutdown"))
        (void)shutdown();
    if (library)
      (void)dlclose(library);
  }
  Nvml(const Nvml &) = delete;
  Nvml &operator=(const Nvml &) = delete;

  // Returns null if the library or the function does not exist.
  template <typename Function> Function *find(const char *name) const {
    return library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
  }
  bool isReady() const { return ready; }

private:
  void *library = nullptr;
  bool ready = false;
};

double valueOf(const Nvml &nvml, const char *name, Handle handle) {
  auto ask = nvml.find<int(Handle, unsigned *)>(name);
  unsigned value = 0;
  return ask && ask(handle, &value) == 0 ? value : 0;
}

double valueOf(const Nvml &nvml, const char *name, Handle handle, unsigned which) {
  auto ask = nvml.find<int(Handle, unsigned, unsigned *)>(name);
  unsigned value = 0;
  return ask && ask(handle, which, &value) == 0 ? value : 0;
}

} // namespace

Moment momentOf(int device) {
  Moment moment;
  Nvml nvml;
  // Uses the bus number, because CUDA_VISIBLE_DEVICES changes the numbers of devices.
  char bus[32] = {};
  if (!nvml.isReady() || cudaDeviceGetPCIBusId(bus, sizeof(bus), device) != cudaSuccess)
    return moment;
  auto open = nvml.find<int(const char *, Handle *)>("nvmlDeviceGetHandleByPciBusId_v2");
  Handle handle = nullptr;
  if (!open || open(bus, &handle) != 0)
    return moment;
  auto version = nvml.find<int(char *, unsigned)>("nvmlSystemGetDriverVersion");
  char text[80] = {};
  if (version && version(text, sizeof(text)) == 0)
    moment.driver = text;
  moment.clockHz = 1e6 * valueOf(nvml, "nvmlDeviceGetClockInfo", handle, smClock);
  moment.memoryClockHz = 1e6 * valueOf(nvml, "nvmlDeviceGetClockInfo", handle, memoryClock);
  moment.celsius = valueOf(nvml, "nvmlDeviceGetTemperature", handle, gpuTemperature);
  moment.powerWatts = 1e-3 * valueOf(nvml, "nvmlDeviceGetPowerUsage", handle);
  moment.powerLimitWatts = 1e-3 * valueOf(nvml, "nvmlDeviceGetEnforcedPowerLimit", handle);
  return moment;
}

// Calls NVML by dlopen. The declarations follow the public interface (nvml.h of the CUDA toolkit).
// Functions with a version in their name keep their arguments.
#include "compiler/describe/topology/Nvml.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <dlfcn.h>

namespace dtc {
namespace {

struct NvmlDevice; // opaque
using Handle = NvmlDevice *;
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
enum ClockType : int { SmClock = 1, MemoryClock = 2 };
constexpr int remoteIsGpu = 0;
constexpr unsigned maxGpus = 256, maxLinks = 36;

// The functions that are used. A function is null if the driver is too old to have it.
struct Library {
  int (*init)();
  int (*shutdown)();
  const char *(*errorString)(int);
  int (*count)(unsigned *);
  int (*handle)(unsigned, Handle *);
  int (*name)(Handle, char *, unsigned);
  int (*memory)(Handle, MemoryInfo *);
  int (*pci)(Handle, PciInfo *);
  int (*computeCapability)(Handle, int *, int *);
  int (*cores)(Handle, unsigned *);
  int (*maxClock)(Handle, int, unsigned *);
  int (*busWidth)(Handle, unsigned *);
  int (*pcieGeneration)(Handle, unsigned *);
  int (*pcieWidth)(Handle, unsigned *);
  int (*linkState)(Handle, unsigned, int *);
  int (*linkRemote)(Handle, unsigned, PciInfo *);
  int (*linkRemoteType)(Handle, unsigned, int *);
};

template <typename Function> void load(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Library load(void *library) {
  Library nvml{};
  load(library, "nvmlInit_v2", nvml.init);
  load(library, "nvmlShutdown", nvml.shutdown);
  load(library, "nvmlErrorString", nvml.errorString);
  load(library, "nvmlDeviceGetCount_v2", nvml.count);
  load(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle);
  load(library, "nvmlDeviceGetName", nvml.name);
  load(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
  load(library, "nvmlDeviceGetPciInfo_v3", nvml.pci);
  load(library, "nvmlDeviceGetCudaComputeCapability", nvml.computeCapability);
  load(library, "nvmlDeviceGetNumGpuCores", nvml.cores);
  load(library, "nvmlDeviceGetMaxClockInfo", nvml.maxClock);
  load(library, "nvmlDeviceGetMemoryBusWidth", nvml.busWidth);
  load(library, "nvmlDeviceGetMaxPcieLinkGeneration", nvml.pcieGeneration);
  load(library, "nvmlDeviceGetMaxPcieLinkWidth", nvml.pcieWidth);
  load(library, "nvmlDeviceGetNvLinkState", nvml.linkState);
  load(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml.linkRemote);
  load(library, "nvmlDeviceGetNvLinkRemoteDeviceType", nvml.linkRemoteType);
  return nvml;
}

// Returns "00000000:18:00.0" as "0000:18:00.0", the form that Linux uses.
std::string busIdOf(const PciInfo &info) {
  std::string id(info.busId, strnlen(info.busId, sizeof(info.busId)));
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (id.size() == 16 && id.compare(0, 4, "0000") == 0)
    id.erase(0, 4);
  return id;
}

// Returns the value that `query` writes, or 0 if the function is absent or fails.
template <typename Function, typename... Arguments>
double ask(Function function, Arguments... arguments) {
  unsigned value = 0;
  return function && function(arguments..., &value) == 0 ? static_cast<double>(value) : 0;
}

std::vector<NvmlLink> linksOf(const Library &nvml, Handle handle) {
  std::vector<NvmlLink> links;
  for (unsigned link = 0; nvml.linkState && link < maxLinks; ++link) {
    int up = 0, type = -1;
    if (nvml.linkState(handle, link, &up) != 0 || !up)
      continue;
    NvmlLink found;
    PciInfo remote{};
    if (nvml.linkRemote && nvml.linkRemote(handle, link, &remote) == 0)
      found.remoteBusId = busIdOf(remote);
    if (nvml.linkRemoteType && nvml.linkRemoteType(handle, link, &type) == 0)
      found.toGpu = type == remoteIsGpu;
    links.push_back(found);
  }
  return links;
}

NvmlGpu query(const Library &nvml, Handle handle) {
  NvmlGpu gpu;
  char name[96] = {};
  if (nvml.name && nvml.name(handle, name, sizeof(name)) == 0)
    gpu.name.assign(name, strnlen(name, sizeof(name)));
  MemoryInfo memory{};
  if (nvml.memory && nvml.memory(handle, &memory) == 0)
    gpu.memoryBytes = static_cast<int64_t>(memory.total);
  PciInfo pci{};
  if (nvml.pci && nvml.pci(handle, &pci) == 0) {
    gpu.busId = busIdOf(pci);
    gpu.vendor = pci.pciDeviceId & 0xffff;
    gpu.device = pci.pciDeviceId >> 16;
  }
  int major = 0, minor = 0;
  if (nvml.computeCapability && nvml.computeCapability(handle, &major, &minor) == 0)
    gpu.computeCapability = static_cast<int64_t>(major) * 10 + minor;
  gpu.cores = static_cast<int64_t>(ask(nvml.cores, handle));
  gpu.coreClockHz = ask(nvml.maxClock, handle, static_cast<int>(SmClock)) * 1e6;
  gpu.memoryClockHz = ask(nvml.maxClock, handle, static_cast<int>(MemoryClock)) * 1e6;
  gpu.memoryBusBits = static_cast<int64_t>(ask(nvml.busWidth, handle));
  gpu.pcieGeneration = static_cast<int64_t>(ask(nvml.pcieGeneration, handle));
  gpu.pcieLanes = static_cast<int64_t>(ask(nvml.pcieWidth, handle));
  gpu.links = linksOf(nvml, handle);
  return gpu;
}

} // namespace

NvmlReport queryNvml(const std::string &library) {
  NvmlReport report;
  void *opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char *why = dlerror();
    report.problem = why ? why : library + ": not found";
    return report;
  }
  Library nvml = load(opened);
  auto failed = [&](const char *what, int code) {
    const char *words = nvml.errorString ? nvml.errorString(code) : nullptr;
    report.problem =
        std::string(what) + ": " + (words ? words : ("error " + std::to_string(code)).c_str());
  };
  if (!nvml.init || !nvml.shutdown || !nvml.count || !nvml.handle) {
    report.problem = library + " lacks nvmlInit_v2 or nvmlDeviceGetCount_v2";
  } else if (int code = nvml.init()) {
    failed("nvmlInit_v2", code);
  } else {
    unsigned count = 0;
    if (int counted = nvml.count(&count))
      failed("nvmlDeviceGetCount_v2", counted);
    for (unsigned i = 0; i < std::min(count, maxGpus); ++i) {
      Handle handle = nullptr;
      if (nvml.handle(i, &handle) == 0) // skips a GPU that this process may not use
        report.gpus.push_back(query(nvml, handle));
    }
    if (report.gpus.empty() && report.problem.empty())
      report.problem = "NVML finds no GPU that this process may use";
    nvml.shutdown();
  }
  dlclose(opened);
  return report;
}

} // namespace dtc

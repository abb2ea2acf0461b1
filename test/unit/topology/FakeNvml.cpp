// A stand-in for NVIDIA's management library, with the functions that compiler/describe/topology
// calls. The variable DTC_FAKE_NVML selects the machine: "h100" has 4 H100 behind NVSwitches, "rtx"
// two linked GPUs that are not in the catalogue, "broken" a driver that does not start, "hidden"
// GPUs that may not be used, "many" a count that no machine has.
#include <cstdlib>
#include <cstring>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};

constexpr int success = 0, notSupported = 3, noPermission = 4, driverNotLoaded = 9;
char handles[4]; // their addresses are the handles

bool is(const char *machine) {
  const char *value = getenv("DTC_FAKE_NVML");
  return value && strcmp(value, machine) == 0;
}
unsigned indexOf(const void *handle) {
  return static_cast<unsigned>(static_cast<const char *>(handle) - handles);
}
void setPci(Pci *pci, unsigned bus, unsigned id) {
  *pci = {};
  pci->bus = bus;
  pci->pciDeviceId = id;
  memcpy(pci->busId, "00000000:00:00.0", 17);
  pci->busId[9] = "0123456789ABCDEF"[bus / 16 % 16];
  pci->busId[10] = "0123456789ABCDEF"[bus % 16];
}

} // namespace

extern "C" {

int nvmlInit_v2() { return is("broken") ? driverNotLoaded : success; }
int nvmlShutdown() { return success; }
const char *nvmlErrorString(int code) {
  return code == driverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = is("many") ? 4000000000U : is("h100") ? 4 : 2;
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
  if (is("hidden") || index >= 4)
    return noPermission;
  *handle = handles + index;
  return success;
}

int nvmlDeviceGetName(void * /*handle*/, char *name, unsigned length) {
  strncpy(name, is("rtx") ? "NVIDIA RTX 6000 Ada Generation" : "NVIDIA H100 80GB HBM3", length);
  return success;
}

int nvmlDeviceGetMemoryInfo(void * /*handle*/, Memory *memory) {
  *memory = {(is("rtx") ? 49140ULL : 81559ULL) << 20, 0, 0};
  return success;
}

int nvmlDeviceGetPciInfo_v3(void *handle, Pci *pci) {
  setPci(pci, 0x18 + 0x10 * indexOf(handle), is("rtx") ? 0x26b110de : 0x233010de);
  return success;
}

int nvmlDeviceGetCudaComputeCapability(void * /*handle*/, int *major, int *minor) {
  *major = is("rtx") ? 8 : 9;
  *minor = is("rtx") ? 9 : 0;
  return success;
}

int nvmlDeviceGetNumGpuCores(void * /*handle*/, unsigned *cores) {
  *cores = is("rtx") ? 18176 : 16896;
  return success;
}

int nvmlDeviceGetMaxClockInfo(void * /*handle*/, int type, unsigned *megahertz) {
  *megahertz = type == 1 ? 2505 : 10001; // the multiprocessors' and the memory's
  return success;
}

int nvmlDeviceGetMemoryBusWidth(void * /*handle*/, unsigned *bits) {
  *bits = 384;
  return success;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void * /*handle*/, unsigned *generation) {
  *generation = is("rtx") ? 4 : 5;
  return success;
}

int nvmlDeviceGetMaxPcieLinkWidth(void * /*handle*/, unsigned *lanes) {
  *lanes = 16;
  return success;
}

int nvmlDeviceGetNvLinkState(void * /*handle*/, unsigned link, int *active) {
  if (link >= 18)
    return notSupported;
  *active = is("rtx") ? link < 4 : 1;
  return success;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *handle, unsigned link, Pci *pci) {
  if (is("rtx"))
    setPci(pci, 0x18 + 0x10 * (1 - indexOf(handle)), 0x26b110de);
  else
    setPci(pci, 5 + link % 4, 0x22a310de);
  return success;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void * /*handle*/, unsigned /*link*/, int *type) {
  *type = is("rtx") ? 0 : 2; // a GPU or a switch
  return success;
}

} // extern "C"

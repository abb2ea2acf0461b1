// Discovers this machine by hwloc, processor identification and the limits of the control group.
#include "compiler/describe/topology/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <hwloc.h>

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

constexpr int64_t mebibyte = int64_t(1) << 20;

// Returns the first line of a small file of /proc or /sys, or "".
std::string firstLine(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().split('\n').first.str() : "";
}

// Returns the value of the first line "key : value" of /proc/cpuinfo, or "".
std::string cpuInfo(llvm::StringRef key) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  if (!buffer)
    return "";
  for (llvm::StringRef line : llvm::split((*buffer)->getBuffer(), '\n')) {
    auto [name, value] = line.split(':');
    if (name.trim() == key)
      return value.trim().str();
  }
  return "";
}

// Returns the folders of this process's control group (version 2) and of the enclosing ones,
// innermost first.
std::vector<std::string> controlGroups() {
  std::vector<std::string> folders;
  llvm::StringRef entry;
  std::string line = firstLine("/proc/self/cgroup");
  entry = line;
  std::string path = entry.consume_front("0::") ? entry.str() : "";
  while (!path.empty() && path != "/") {
    folders.push_back("/sys/fs/cgroup" + path);
    path = path.substr(0, path.find_last_of('/'));
  }
  folders.push_back("/sys/fs/cgroup");
  return folders;
}

int64_t memoryLimit(int64_t installed) {
  int64_t limit = installed;
  auto apply = [&](const std::string &text) {
    int64_t bytes = 0;
    if (!llvm::StringRef(text).getAsInteger(10, bytes) && bytes > 0)
      limit = std::min(limit, bytes);
  };
  for (const std::string &folder : controlGroups())
    apply(firstLine(folder + "/memory.max"));                      // "max" means no limit
  apply(firstLine("/sys/fs/cgroup/memory/memory.limit_in_bytes")); // version 1
  return limit;
}

int64_t coreLimit(int64_t cores) {
  for (const std::string &folder : controlGroups()) {
    // "150000 100000" means one and a half cores
    std::string line = firstLine(folder + "/cpu.max");
    auto [quotaText, periodText] = llvm::StringRef(line).split(' ');
    int64_t quota = 0, period = 0;
    if (!quotaText.getAsInteger(10, quota) && !periodText.getAsInteger(10, period) && quota > 0 &&
        period > 0)
      cores = std::min(cores, std::max<int64_t>(1, quota / period));
  }
  return cores;
}

// Returns the base clock. The turbo clock of one core is not what all cores can keep.
double baseClockHz() {
  double value = 0;
  if (llvm::to_float(firstLine("/sys/devices/system/cpu/cpu0/cpufreq/base_frequency"), value) &&
      value > 0)
    return value * 1e3;
  std::string model = cpuInfo("model name");
  llvm::StringRef clock = llvm::StringRef(model).rsplit("@ ").second;
  if (clock.consume_back("GHz") && llvm::to_float(clock.trim(), value) && value > 0)
    return value * 1e9;
  // Linux derives it from the time stamp counter, whose rate is the base clock: two "bogus"
  // instructions per cycle.
  if (llvm::to_float(cpuInfo("bogomips"), value) && value > 1000)
    return std::round(value / 2) * 1e6;
  return 2e9;
}

double flopsPerCycle() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (features.lookup(
          "avx512f")) // two 512-bit units, but Zen 4 runs each 512-bit operation in two halves
    return llvm::sys::getHostCPUName() == "znver4" ? 32 : 64;
  if (features.lookup("avx2") && features.lookup("fma"))
    return 32; // two 256-bit units of 8 lanes
  if (features.lookup("neon"))
    return 16; // two 128-bit units of 4 lanes
  return 8;    // SSE: an addition and a multiplication of 4 lanes
}

} // namespace

Machine discoverMachine() {
  Machine machine;
  int64_t cores = 0, numaNodes = 0;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) == 0) {
    if (hwloc_topology_load(topology) == 0) {
      cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
      if (cores <= 0)
        cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
      numaNodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
      machine.memoryBytes = static_cast<int64_t>(hwloc_get_root_obj(topology)->total_memory);
      if (hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0))
        if (const char *model = hwloc_obj_get_info_by_name(package, "CPUModel"))
          machine.processor = llvm::StringRef(model).trim().str();
    }
    hwloc_topology_destroy(topology);
  }
  if (machine.processor.empty())
    machine.processor = llvm::sys::getHostCPUName().str();
  machine.cores = coreLimit(std::max<int64_t>(1, cores));
  if (machine.memoryBytes <= 0)
    machine.memoryBytes = 4096 * mebibyte;
  machine.memoryBytes =
      std::max(64 * mebibyte, memoryLimit(machine.memoryBytes) / (64 * mebibyte) * (64 * mebibyte));
  machine.clockHz = baseClockHz();
  machine.flopsPerCycle = flopsPerCycle();
  machine.memoryBandwidth = std::min(10e9 * static_cast<double>(machine.cores),
                                     20e9 * static_cast<double>(std::max<int64_t>(1, numaNodes)));
  return machine;
}

} // namespace dtc

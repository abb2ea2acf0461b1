#include "runtime/cuda/Nvtx.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

namespace dtc::rt {
namespace {

// The interface between NVTX 3 and a tool: tables of functions by module, which the tool fills by
// number, from 1 on.
using Function = void (*)();
constexpr size_t core = 1, numModules = 7;     // number 0 is unused
constexpr size_t rangePush = 9, rangePop = 11; // numbers in `core`
constexpr uint32_t callbacksTable = 1, versionTable = 3, nvtxVersion = 3;

struct Functions {
  static constexpr size_t most = 16; // number 0 is unused
  unsigned size = 0;
  std::array<Function, most> functions = {};
  std::array<Function *, most + 1> pointers = {}; // null after the last
};

std::array<Functions, numModules> modules;

int getModuleFunctions(int module, Function ***table, unsigned *size) {
  if (module < 1 || module >= static_cast<int>(numModules))
    return 0;
  Functions &found = modules[static_cast<size_t>(module)];
  *table = found.pointers.data();
  *size = found.size;
  return 1;
}

struct Callbacks {
  size_t bytes = sizeof(Callbacks);
  int (*getModuleFunctions)(int module, Function ***table, unsigned *size) = rt::getModuleFunctions;
} callbacks;

struct Version {
  size_t bytes = sizeof(Version);
  uint32_t version = nvtxVersion, reserved = 0;
  void (*setToolVersion)(uint32_t) = [](uint32_t) {};
} version;

const void *getTable(uint32_t id) {
  return id == callbacksTable ? static_cast<const void *>(&callbacks)
         : id == versionTable ? static_cast<const void *>(&version)
                              : nullptr;
}

void makeTables() {
  constexpr std::array<unsigned, numModules> sizes = {0, 16, 9, 15, 7, 16, 7};
  for (size_t module = core; module < numModules; ++module) {
    Functions &made = modules[module];
    made.size = sizes[module];
    for (size_t i = 1; i < made.size; ++i)
      made.pointers[i] = &made.functions[i];
  }
}

} // namespace

bool Nvtx::attach(const char *library) {
  void *handle = dlopen(library, RTLD_LAZY);
  void *symbol = handle ? dlsym(handle, "InitializeInjectionNvtx2") : nullptr;
  if (!symbol)
    return false;
  makeTables();
  if (reinterpret_cast<int (*)(const void *(*)(uint32_t))>(symbol)(getTable) == 0)
    return false;
  push = reinterpret_cast<int (*)(const char *)>(modules[core].functions[rangePush]);
  pop = reinterpret_cast<int (*)()>(modules[core].functions[rangePop]);
  return push && pop;
}

const Nvtx *Nvtx::find() {
  const char *library = std::getenv("NVTX_INJECTION64_PATH");
  if (!library)
    return nullptr;
  static Nvtx tool;
  static const bool isAttached = tool.attach(library); // once per process, as tools expect
  return isAttached ? &tool : nullptr;
}

} // namespace dtc::rt

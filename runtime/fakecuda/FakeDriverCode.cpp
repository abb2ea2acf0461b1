// The fake driver: modules, functions, and their launches.
#include "runtime/fakecuda/FakeDriver.h"
#include "runtime/simt/LoadModule.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <utility>

namespace dtc::rt::fake::driver {

// Returns the bytes of a shared object, which cuModuleLoadDataEx is not told: its last section or
// section table ends it.
static uint64_t sizeOfObject(const uint8_t *image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0)
    return 0;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  uint64_t end = header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * header.e_shentsize, sizeof(section));
    if (section.sh_type != SHT_NOBITS)
      end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

Result cuModuleLoadDataEx(cu::Module *module, const void *image, unsigned numOptions, int *options,
                          void **values) {
  DTC_FAKE_DRIVER(false)
  const auto *bytes = static_cast<const uint8_t *>(image);
  uint64_t size = sizeOfObject(bytes);
  auto made = std::make_unique<FakeModule>();
  if (size == 0 || !simt::loadModule({bytes, size}, made->code).ok())
    return cu::errorInvalidImage;
  ++m.alive["module"];
  *module = reinterpret_cast<cu::Module>(made.release());
  return cu::success;
}

Result cuModuleUnload(cu::Module module) {
  DTC_FAKE_DRIVER_FREE
  awaitGpu(m, lock);
  auto *owned = reinterpret_cast<FakeModule *>(module);
  m.removeFunctions(owned);
  delete owned;
  --m.alive["module"];
  return entered;
}

Result cuModuleGetFunction(cu::Function *function, cu::Module module, const char *name) {
  DTC_FAKE_DRIVER(true)
  auto *in = reinterpret_cast<FakeModule *>(module);
  const simt::Kernel *kernel = in->code->find(name);
  if (!kernel)
    return cu::errorNotFound;
  *function = reinterpret_cast<cu::Function>(m.addFunction({kernel, in}));
  return cu::success;
}

Result cuFuncLoad(cu::Function function) {
  DTC_FAKE_DRIVER(false)
  reinterpret_cast<FakeFunction *>(function)->isLoaded = true;
  return cu::success;
}

Result cuFuncSetAttribute(cu::Function function, int attribute, int value) {
  DTC_FAKE_DRIVER(true)
  auto &of = *reinterpret_cast<FakeFunction *>(function);
  if (attribute != cu::functionMaxDynamicShared || value < 0 ||
      static_cast<uint32_t>(value) + of.kernel->sharedBytes > m.options.sharedBytes)
    return cu::errorInvalidValue;
  of.dynamicShared = static_cast<uint32_t>(value);
  return cu::success;
}

// Checks the limits that a driver checks before anything runs.
static bool isLegal(const FakeFunction &function, simt::Dim3 grid, simt::Dim3 block,
                    uint32_t shared) {
  constexpr uint32_t mostThreads = 1024, mostZ = 64, mostGrid = 65535, mostGridX = 0x7fffffff;
  const simt::Kernel &kernel = *function.kernel;
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  bool isGrid = grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= mostGridX &&
                grid.y <= mostGrid && grid.z <= mostGrid;
  bool isBlock = threads >= 1 && threads <= mostThreads && block.x <= mostThreads &&
                 block.y <= mostThreads && block.z <= mostZ;
  bool isKernels = (kernel.requiredThreads == 0 || kernel.requiredThreads == threads) &&
                   (kernel.maxThreads == 0 || threads <= kernel.maxThreads);
  return isGrid && isBlock && isKernels && shared <= function.dynamicShared;
}

Result cuLaunchKernel(cu::Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                      cu::Stream stream, void **parameters, void **extra) {
  DTC_FAKE_DRIVER(true)
  auto &of = *reinterpret_cast<FakeFunction *>(function);
  simt::Dim3 grid{gridX, gridY, gridZ}, block{blockX, blockY, blockZ};
  uint64_t parameterBytes = 0;
  for (uint32_t bytes : of.kernel->parameterBytes)
    parameterBytes += bytes;
  if (!isLegal(of, grid, block, shared) || parameterBytes > 4096 || extra)
    return cu::errorInvalidValue;
  // The call copies parameters; each has the largest alignment.
  auto values = std::make_shared<std::vector<std::vector<uint64_t>>>();
  for (size_t i = 0; i < of.kernel->parameterBytes.size(); ++i) {
    uint32_t bytes = of.kernel->parameterBytes[i];
    std::memcpy(values->emplace_back((bytes + 7) / 8).data(), parameters[i], bytes);
  }
  FakeStream &on = streamOf(m, stream);
  FakeGpu &gpu = *m.gpus[static_cast<size_t>(on.gpu)];
  // Drivers load what is launched first, and may wait for all streams.
  if (!std::exchange(of.isLoaded, true) && !on.capture)
    m.runUntil(lock, [&] { return m.isIdle(on.gpu); });
  Result result = m.push(
      on,
      [&gpu, kernel = of.kernel, grid, block, shared, values, seed = m.options.seed]() -> Status {
        std::vector<void *> addresses;
        for (std::vector<uint64_t> &value : *values)
          addresses.push_back(value.data());
        ++machine().launches;
        if (machine().options.cudnnVersion != 0)
          gpu.clock += 1e-5;
        return simt::launch(*kernel, grid, block, shared, addresses.data(), gpu.memory,
                            {.seed = seed});
      },
      [&m, &gpu] { return m.hasRoom(gpu, 1); });
  m.await(lock, on);
  return result;
}

// Enqueues a host function. Host threads may do what it does, except for calls of CUDA, which never
// return here.
Result cuLaunchHostFunc(cu::Stream stream, void (*function)(void *), void *data) {
  DTC_FAKE_DRIVER(true)
  if (!function)
    return cu::errorInvalidValue;
  FakeStream &on = streamOf(m, stream);
  Result result = m.push(on, [function, data]() -> Status {
    function(data);
    return {};
  });
  m.await(lock, on);
  return result;
}

} // namespace dtc::rt::fake::driver

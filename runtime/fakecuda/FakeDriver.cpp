// The functions of the fake driver, one for each of runtime/cuda/Driver.def.
#include "runtime/fakecuda/Machine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <utility>

namespace dtc::rt::fake {
namespace {

using Lock = std::unique_lock<std::mutex>;

// Returns from a function where the call must not go on.
#define DTC_FAKE_ENTER(isSafe)                                                                     \
  Machine &m = machine();                                                                          \
  Lock lock(m.mutex);                                                                              \
  if (Result entered = m.enter(isSafe); entered != cu::success)                                    \
    return entered;
#define DTC_FAKE_FREE                                                                              \
  Machine &m = machine();                                                                          \
  Lock lock(m.mutex);                                                                              \
  Result entered = m.enterFree();

FakeStream &streamOf(Machine &m, cu::Stream stream) {
  return stream ? *reinterpret_cast<FakeStream *>(stream) : m.current().defaultStream;
}
FakeEvent &eventOf(cu::Event event) { return *reinterpret_cast<FakeEvent *>(event); }
char *pointer(cu::DevicePtr address) { return reinterpret_cast<char *>(address); }

Result cuInit(unsigned flags) {
  DTC_FAKE_ENTER(true)
  return flags == 0 ? cu::success : cu::errorInvalidValue;
}

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

Result cuGetErrorName(Result error, const char **name) {
  const auto *found = std::find_if(std::begin(errorWords), std::end(errorWords),
                                   [error](const ErrorWords &each) { return each.code == error; });
  *name = error == cu::errorIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : found == std::end(errorWords)  ? nullptr
                                           : found->name;
  return *name ? cu::success : cu::errorInvalidValue;
}

// Of a fault: what the emulator has found. The words stay, since there is one fault at most.
Result cuGetErrorString(Result error, const char **words) {
  const auto *found = std::find_if(std::begin(errorWords), std::end(errorWords),
                                   [error](const ErrorWords &each) { return each.code == error; });
  *words = found == std::end(errorWords) ? nullptr : found->words;
  if (error == cu::errorIllegalAddress)
    *words = machine().faultWords.c_str();
  return *words ? cu::success : cu::errorInvalidValue;
}

Result cuDeviceGetCount(int *count) {
  DTC_FAKE_ENTER(true)
  *count = static_cast<int>(m.gpus.size());
  return cu::success;
}

Result cuDeviceGet(cu::Device *device, int ordinal) {
  DTC_FAKE_ENTER(true)
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= m.gpus.size())
    return cu::errorInvalidDevice;
  *device = ordinal;
  return cu::success;
}

Result cuDeviceGetName(char *name, int length, cu::Device device) {
  DTC_FAKE_ENTER(true)
  constexpr std::string_view words = "emulated";
  auto size = std::min<size_t>(words.size(), static_cast<size_t>(length) - 1);
  std::memcpy(name, words.data(), size);
  name[size] = 0;
  return cu::success;
}

Result cuDriverGetVersion(int *version) {
  DTC_FAKE_ENTER(true)
  *version = m.options.driverVersion;
  return cu::success;
}

Result cuDeviceGetAttribute(int *value, int attribute, cu::Device device) {
  DTC_FAKE_ENTER(true)
  switch (attribute) {
  case cu::attributeMajor:
    *value = 10; // code for all architectures is the same here
    return cu::success;
  case cu::attributeMinor:
    *value = 0;
    return cu::success;
  case cu::attributeMaxSharedOptin:
    *value = 227 * 1024;
    return cu::success;
  case cu::attributePciBus: // the same in every process, as all emulate the same GPUs
    *value = m.options.oneGpu ? 1 : device + 1;
    return cu::success;
  case cu::attributeVirtualMemory:
  case cu::attributeMemoryAsFile:
  case cu::attributeDirectNetwork:
    *value = m.options.maps ? 1 : 0;
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
  DTC_FAKE_ENTER(true)
  FakeGpu &gpu = *m.gpus[static_cast<size_t>(device)];
  ++gpu.contexts;
  ++m.alive["context"];
  *context = reinterpret_cast<cu::Context>(&gpu);
  return cu::success;
}

Result cuDevicePrimaryCtxRelease(cu::Device device) {
  DTC_FAKE_FREE
  --m.gpus[static_cast<size_t>(device)]->contexts;
  --m.alive["context"];
  return entered;
}

Result cuCtxSetCurrent(cu::Context context) {
  DTC_FAKE_ENTER(true)
  for (size_t i = 0; i < m.gpus.size(); ++i)
    if (reinterpret_cast<cu::Context>(m.gpus[i].get()) == context)
      Machine::currentGpu = static_cast<int>(i);
  return cu::success;
}

Result cuCtxSynchronize() {
  DTC_FAKE_ENTER(false)
  int gpu = Machine::currentGpu;
  m.runUntil(lock, [&] { return m.isIdle(gpu); });
  return m.fault;
}

Result cuMemGetInfo(size_t *unused, size_t *total) {
  DTC_FAKE_ENTER(true)
  *total = m.options.memoryBytes;
  *unused = *total - m.current().used;
  return cu::success;
}

void awaitGpu(Machine &m, Lock &lock) {
  int number = Machine::currentGpu;
  m.runUntil(lock, [&] { return m.isIdle(number); });
}

Result cuMemAlloc(cu::DevicePtr *address, size_t bytes) {
  DTC_FAKE_ENTER(false)
  FakeGpu &gpu = m.current();
  if (bytes == 0)
    return cu::errorInvalidValue;
  awaitGpu(m, lock); // as drivers may
  void *memory = nullptr;
  if (bytes > m.options.memoryBytes - gpu.used || !gpu.memory.allocate(bytes, memory).ok())
    return cu::errorOutOfMemory;
  *address = reinterpret_cast<uintptr_t>(memory);
  gpu.allocations[*address] = bytes;
  gpu.used += bytes;
  ++m.alive["allocation"];
  return cu::success;
}

// Waits for all that could still use it.
Result cuMemFree(cu::DevicePtr address) {
  DTC_FAKE_FREE
  FakeGpu &gpu = m.current();
  auto found = gpu.allocations.find(address);
  if (found == gpu.allocations.end())
    return cu::errorInvalidValue;
  awaitGpu(m, lock);
  gpu.used -= found->second;
  (void)gpu.memory.free(pointer(address));
  gpu.allocations.erase(found);
  --m.alive["allocation"];
  return entered;
}

// Mapped memory: addresses first, then memory, then both, then the right to use it.
constexpr size_t granularity = 256;

Result cuMemGetAllocationGranularity(size_t *bytes, const cu::AllocationProperties *of, int kind) {
  DTC_FAKE_ENTER(true)
  *bytes = granularity;
  return of->type == 1 && of->location.type == 1 && kind == cu::granularityRecommended
             ? cu::success
             : cu::errorInvalidValue;
}

Result cuMemAddressReserve(cu::DevicePtr *address, size_t bytes, size_t alignment,
                           cu::DevicePtr wanted, unsigned long long flags) {
  DTC_FAKE_ENTER(false)
  void *memory = nullptr;
  if (bytes == 0 || bytes % granularity != 0 || alignment != 0 || wanted != 0 || flags != 0)
    return cu::errorInvalidValue;
  // What does not exist is not reserved either, as it would have to be kept here.
  if (bytes > m.options.memoryBytes || !m.current().memory.allocate(bytes, memory).ok())
    return cu::errorOutOfMemory;
  *address = reinterpret_cast<uintptr_t>(memory);
  m.current().reservations[*address] = bytes;
  ++m.alive["reservation"];
  return cu::success;
}

Result cuMemAddressFree(cu::DevicePtr address, size_t bytes) {
  DTC_FAKE_FREE
  FakeGpu &gpu = m.current();
  auto found = gpu.reservations.find(address);
  if (found == gpu.reservations.end() || found->second != bytes || gpu.mapped.count(address) > 0)
    return cu::errorInvalidValue;
  (void)gpu.memory.free(pointer(address));
  gpu.reservations.erase(found);
  --m.alive["reservation"];
  return entered;
}

Result cuMemCreate(cu::Allocation *made, size_t bytes, const cu::AllocationProperties *properties,
                   unsigned long long flags) {
  DTC_FAKE_ENTER(false)
  FakeGpu &gpu = m.current();
  if (bytes == 0 || bytes % granularity != 0 || flags != 0 || properties->handles != 1 ||
      properties->location.id != Machine::currentGpu)
    return cu::errorInvalidValue;
  awaitGpu(m, lock);
  if (bytes > m.options.memoryBytes - gpu.used)
    return cu::errorOutOfMemory;
  *made = m.calls; // a number of its own
  gpu.created[*made] = bytes;
  gpu.used += bytes;
  ++m.alive["unreleased allocation"];
  return cu::success;
}

Result cuMemRelease(cu::Allocation allocation) {
  DTC_FAKE_FREE
  FakeGpu &gpu = m.current();
  auto found = gpu.created.find(allocation);
  if (found == gpu.created.end())
    return cu::errorInvalidValue;
  bool isMapped = std::any_of(gpu.mapped.begin(), gpu.mapped.end(),
                              [&](const auto &each) { return each.second == allocation; });
  if (!isMapped)
    gpu.used -= found->second;
  gpu.created.erase(found);
  --m.alive["unreleased allocation"];
  return entered;
}

Result cuMemMap(cu::DevicePtr address, size_t bytes, size_t offset, cu::Allocation allocation,
                unsigned long long flags) {
  DTC_FAKE_ENTER(false)
  FakeGpu &gpu = m.current();
  auto reserved = gpu.reservations.find(address);
  auto created = gpu.created.find(allocation);
  if (reserved == gpu.reservations.end() || created == gpu.created.end() ||
      reserved->second != bytes || created->second != bytes || offset != 0 || flags != 0 ||
      gpu.mapped.count(address) > 0)
    return cu::errorInvalidValue;
  gpu.mapped[address] = allocation;
  ++m.alive["map"];
  return cu::success;
}

Result cuMemSetAccess(cu::DevicePtr address, size_t bytes, const cu::AccessDescription *access,
                      size_t count) {
  DTC_FAKE_ENTER(false)
  FakeGpu &gpu = m.current();
  constexpr int readsAndWrites = 3;
  if (gpu.mapped.count(address) == 0 || gpu.reservations[address] != bytes || count != 1 ||
      access->flags != readsAndWrites || access->location.id != Machine::currentGpu)
    return cu::errorInvalidValue;
  gpu.accessible.insert(address);
  return cu::success;
}

// Waits for all that could still use it.
Result cuMemUnmap(cu::DevicePtr address, size_t bytes) {
  DTC_FAKE_FREE
  FakeGpu &gpu = m.current();
  auto found = gpu.mapped.find(address);
  if (found == gpu.mapped.end() || gpu.reservations[address] != bytes)
    return cu::errorInvalidValue;
  awaitGpu(m, lock);
  if (gpu.created.count(found->second) == 0)
    gpu.used -= bytes;
  gpu.mapped.erase(found);
  gpu.accessible.erase(address);
  --m.alive["map"];
  return entered;
}

Result cuMemAllocHost(void **memory, size_t bytes) {
  DTC_FAKE_ENTER(false)
  constexpr size_t page = 4096;
  awaitGpu(m, lock); // as drivers may
  *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (!*memory)
    return cu::errorOutOfMemory;
  std::memset(*memory, 0xa5, bytes); // holds whatever
  if (!m.current().memory.addHostRange(*memory, bytes).ok())
    return cu::errorInvalidValue;
  m.pinned[static_cast<char *>(*memory)] = bytes;
  ++m.alive["pinned allocation"];
  return cu::success;
}

Result cuMemFreeHost(void *memory) {
  DTC_FAKE_FREE
  auto found = m.pinned.find(static_cast<char *>(memory));
  if (found == m.pinned.end())
    return cu::errorInvalidValue;
  awaitGpu(m, lock);
  for (const std::unique_ptr<FakeGpu> &gpu : m.gpus)
    (void)gpu->memory.removeHostRange(memory);
  std::memset(memory, 0xdd, found->second);
  std::free(memory);
  m.pinned.erase(found);
  --m.alive["pinned allocation"];
  return entered;
}

Result cuMemHostGetDevicePointer(cu::DevicePtr *address, void *host, unsigned flags) {
  DTC_FAKE_ENTER(true)
  if (!m.isPinned(host, 1) || flags != 0)
    return cu::errorInvalidValue;
  *address = reinterpret_cast<uintptr_t>(host);
  return cu::success;
}

// Copies as nodes. They read when they run.
std::function<Status()> copyIn(FakeGpu &gpu, cu::DevicePtr to, const void *from, size_t bytes) {
  return [&gpu, to, from, bytes]() -> Status {
    DTC_RETURN_IF_ERROR(gpu.memory.checkWrite(pointer(to), bytes, "copy from the host"));
    std::memcpy(pointer(to), from, bytes);
    return gpu.memory.markWritten(pointer(to), bytes);
  };
}

std::function<Status()> copyOut(FakeGpu &gpu, void *to, cu::DevicePtr from, size_t bytes) {
  return [&gpu, to, from, bytes]() -> Status {
    DTC_RETURN_IF_ERROR(gpu.memory.checkRead(pointer(from), bytes, "copy to the host"));
    std::memcpy(to, pointer(from), bytes);
    return {};
  };
}

std::function<Status()> fill(FakeGpu &gpu, cu::DevicePtr to, unsigned char value, size_t bytes) {
  return [&gpu, to, value, bytes]() -> Status {
    DTC_RETURN_IF_ERROR(gpu.memory.checkWrite(pointer(to), bytes, "fill"));
    std::memset(pointer(to), value, bytes);
    return gpu.memory.markWritten(pointer(to), bytes);
  };
}

// Of memory that is not pinned: the bytes are taken now, and land later, on the default stream.
Result cuMemcpyHtoD(cu::DevicePtr to, const void *from, size_t bytes) {
  DTC_FAKE_ENTER(false)
  const auto *begin = static_cast<const char *>(from);
  auto held = std::make_shared<std::vector<char>>(begin, begin + bytes);
  FakeGpu &gpu = m.current();
  auto copy = copyIn(gpu, to, held->data(), bytes);
  return m.push(gpu.defaultStream, [held, copy] { return copy(); });
}

Result cuMemcpyDtoH(void *to, cu::DevicePtr from, size_t bytes) {
  DTC_FAKE_ENTER(false)
  FakeGpu &gpu = m.current();
  Result result = m.push(gpu.defaultStream, copyOut(gpu, to, from, bytes));
  NodePtr node = gpu.defaultStream.last;
  m.runUntil(lock, [&] { return node->done; });
  return result == cu::success ? m.fault : result;
}

// A copy of memory that is not pinned would make the host wait, and be captured as it is then.
Result cuMemcpyHtoDAsync(cu::DevicePtr to, const void *from, size_t bytes, cu::Stream stream) {
  DTC_FAKE_ENTER(true)
  if (!m.isPinned(from, bytes))
    return cu::errorInvalidValue;
  FakeStream &on = streamOf(m, stream);
  Result result = m.push(on, copyIn(*m.gpus[static_cast<size_t>(on.gpu)], to, from, bytes));
  m.await(lock, on);
  return result;
}

Result cuMemcpyDtoHAsync(void *to, cu::DevicePtr from, size_t bytes, cu::Stream stream) {
  DTC_FAKE_ENTER(true)
  if (!m.isPinned(to, bytes))
    return cu::errorInvalidValue;
  FakeStream &on = streamOf(m, stream);
  return m.push(on, copyOut(*m.gpus[static_cast<size_t>(on.gpu)], to, from, bytes));
}

Result cuMemcpyDtoDAsync(cu::DevicePtr to, cu::DevicePtr from, size_t bytes, cu::Stream stream) {
  DTC_FAKE_ENTER(true)
  FakeStream &on = streamOf(m, stream);
  FakeGpu &gpu = *m.gpus[static_cast<size_t>(on.gpu)];
  return m.push(on, [&gpu, to, from, bytes]() -> Status {
    DTC_RETURN_IF_ERROR(gpu.memory.checkRead(pointer(from), bytes, "source of a copy"));
    DTC_RETURN_IF_ERROR(gpu.memory.checkWrite(pointer(to), bytes, "target of a copy"));
    std::memmove(pointer(to), pointer(from), bytes);
    return gpu.memory.markCopied(pointer(to), pointer(from), bytes);
  });
}

Result cuMemsetD8(cu::DevicePtr to, unsigned char value, size_t bytes) {
  DTC_FAKE_ENTER(false)
  FakeGpu &gpu = m.current();
  if (gpu.reservations.count(to) > 0 && gpu.accessible.count(to) == 0)
    return cu::errorInvalidValue;
  return m.push(gpu.defaultStream, fill(gpu, to, value, bytes));
}

Result cuMemsetD8Async(cu::DevicePtr to, unsigned char value, size_t bytes, cu::Stream stream) {
  DTC_FAKE_ENTER(true)
  FakeStream &on = streamOf(m, stream);
  Result result = m.push(on, fill(*m.gpus[static_cast<size_t>(on.gpu)], to, value, bytes));
  m.await(lock, on);
  return result;
}

// Bytes of a shared object, which cuModuleLoadDataEx is not told: its last section or table of sections ends it.
uint64_t sizeOfObject(const uint8_t *image) {
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
  DTC_FAKE_ENTER(false)
  const auto *bytes = static_cast<const uint8_t *>(image);
  uint64_t size = sizeOfObject(bytes);
  auto made = std::make_unique<FakeModule>();
  if (size == 0 || !simt::Module::load({bytes, size}, made->code).ok())
    return cu::errorInvalidImage;
  ++m.alive["module"];
  *module = reinterpret_cast<cu::Module>(made.release());
  return cu::success;
}

Result cuModuleUnload(cu::Module module) {
  DTC_FAKE_FREE
  awaitGpu(m, lock);
  auto *owned = reinterpret_cast<FakeModule *>(module);
  m.removeFunctions(owned);
  delete owned;
  --m.alive["module"];
  return entered;
}

Result cuModuleGetFunction(cu::Function *function, cu::Module module, const char *name) {
  DTC_FAKE_ENTER(true)
  auto *in = reinterpret_cast<FakeModule *>(module);
  const simt::Kernel *kernel = in->code->find(name);
  if (!kernel)
    return cu::errorNotFound;
  *function = reinterpret_cast<cu::Function>(m.addFunction({kernel, in}));
  return cu::success;
}

Result cuFuncLoad(cu::Function function) {
  DTC_FAKE_ENTER(false)
  reinterpret_cast<FakeFunction *>(function)->isLoaded = true;
  return cu::success;
}

Result cuFuncSetAttribute(cu::Function function, int attribute, int value) {
  DTC_FAKE_ENTER(true)
  auto &of = *reinterpret_cast<FakeFunction *>(function);
  constexpr uint32_t most = 227 * 1024;
  if (attribute != cu::functionMaxDynamicShared || value < 0 ||
      static_cast<uint32_t>(value) + of.kernel->sharedBytes > most)
    return cu::errorInvalidValue;
  of.dynamicShared = static_cast<uint32_t>(value);
  return cu::success;
}

// What a driver finds out before anything runs.
bool isLegal(const FakeFunction &function, simt::Dim3 grid, simt::Dim3 block, uint32_t shared) {
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
  DTC_FAKE_ENTER(true)
  auto &of = *reinterpret_cast<FakeFunction *>(function);
  simt::Dim3 grid{gridX, gridY, gridZ}, block{blockX, blockY, blockZ};
  uint64_t parameterBytes = 0;
  for (uint32_t bytes : of.kernel->parameterBytes)
    parameterBytes += bytes;
  if (!isLegal(of, grid, block, shared) || parameterBytes > 4096 || extra)
    return cu::errorInvalidValue;
  // Parameters are copied by the call; each is aligned as any could be.
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
      });
  m.await(lock, on);
  return result;
}

// Threads of the host may do what the function does, but for calls of CUDA's, which wait for ever here.
Result cuLaunchHostFunc(cu::Stream stream, void (*function)(void *), void *data) {
  DTC_FAKE_ENTER(true)
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

Result cuStreamCreateWithPriority(cu::Stream *stream, unsigned flags, int priority) {
  DTC_FAKE_ENTER(true)
  if (flags > cu::streamNonBlocking)
    return cu::errorInvalidValue;
  auto made = std::make_unique<FakeStream>();
  made->gpu = Machine::currentGpu;
  ++m.alive["stream"];
  *stream = reinterpret_cast<cu::Stream>(made.release());
  return cu::success;
}

Result cuStreamDestroy(cu::Stream stream) {
  DTC_FAKE_FREE
  auto *owned = reinterpret_cast<FakeStream *>(stream);
  m.forget(*owned);
  delete owned;
  --m.alive["stream"];
  return entered;
}

Result cuStreamWaitEvent(cu::Stream stream, cu::Event event, unsigned flags) {
  DTC_FAKE_ENTER(true)
  return flags == 0 ? m.wait(streamOf(m, stream), eventOf(event)) : cu::errorInvalidValue;
}

// The word lies in pinned memory, where threads of the host write it, too.
Result cuStreamWaitValue32(cu::Stream stream, cu::DevicePtr address, uint32_t value,
                           unsigned flags) {
  DTC_FAKE_ENTER(true)
  if (!m.isPinned(pointer(address), sizeof(value)) || flags != cu::waitValueEqual)
    return cu::errorInvalidValue;
  std::atomic_ref<uint32_t> word(*reinterpret_cast<uint32_t *>(address));
  return m.push(streamOf(m, stream), {},
                [word, value] { return word.load(std::memory_order_acquire) == value; });
}

Result cuStreamWriteValue32(cu::Stream stream, cu::DevicePtr address, uint32_t value,
                            unsigned flags) {
  DTC_FAKE_ENTER(true)
  if (!m.isPinned(pointer(address), sizeof(value)) || flags != 0)
    return cu::errorInvalidValue;
  std::atomic_ref<uint32_t> word(*reinterpret_cast<uint32_t *>(address));
  return m.push(streamOf(m, stream), [word, value]() -> Status {
    word.store(value, std::memory_order_release);
    return {};
  });
}

Result cuStreamBeginCapture(cu::Stream stream, int mode) {
  DTC_FAKE_ENTER(true)
  // As strict as in mode THREAD_LOCAL: what makes the host wait has no place in a capture.
  return mode == cu::captureRelaxed ? m.beginCapture(streamOf(m, stream)) : cu::errorInvalidValue;
}

Result cuStreamEndCapture(cu::Stream stream, cu::Graph *graph) {
  DTC_FAKE_FREE
  FakeGraph *made = nullptr;
  Result result = m.endCapture(streamOf(m, stream), made);
  if (entered != cu::success) { // it ends all the same
    delete made;
    return entered;
  }
  m.alive["graph"] += made ? 1 : 0;
  *graph = reinterpret_cast<cu::Graph>(made);
  return result;
}

Result cuGraphInstantiate(cu::GraphExec *exec, cu::Graph graph, unsigned long long flags) {
  DTC_FAKE_ENTER(true)
  ++m.alive["executable graph"];
  *exec = reinterpret_cast<cu::GraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph *>(graph)));
  return flags == cu::graphNodePriority ? cu::success : cu::errorInvalidValue;
}

Result cuGraphLaunch(cu::GraphExec exec, cu::Stream stream) {
  DTC_FAKE_ENTER(true)
  FakeStream &on = streamOf(m, stream);
  if (on.capture)
    return cu::errorCaptureUnsupported; // in CUDA a graph within the graph, which nobody here wants
  m.launch(*reinterpret_cast<FakeGraph *>(exec), on);
  return cu::success;
}

Result cuGraphDestroy(cu::Graph graph) {
  DTC_FAKE_FREE
  delete reinterpret_cast<FakeGraph *>(graph);
  --m.alive["graph"];
  return entered;
}

Result cuGraphExecDestroy(cu::GraphExec exec) {
  DTC_FAKE_FREE
  delete reinterpret_cast<FakeGraph *>(exec);
  --m.alive["executable graph"];
  return entered;
}

Result cuEventCreate(cu::Event *event, unsigned flags) {
  DTC_FAKE_ENTER(true)
  auto made = std::make_unique<FakeEvent>();
  made->flags = flags;
  ++m.alive["event"];
  *event = reinterpret_cast<cu::Event>(made.release());
  return cu::success;
}

Result cuEventDestroy(cu::Event event) {
  DTC_FAKE_FREE
  delete reinterpret_cast<FakeEvent *>(event);
  --m.alive["event"];
  return entered;
}

Result cuEventRecord(cu::Event event, cu::Stream stream) {
  DTC_FAKE_ENTER(true)
  return m.record(eventOf(event), streamOf(m, stream));
}

Result cuEventSynchronize(cu::Event event) {
  DTC_FAKE_ENTER(false)
  FakeEvent &of = eventOf(event);
  if (of.capture)
    return cu::errorCapturedEvent;
  NodePtr node = of.node;
  m.runUntil(lock, [&] { return !node || node->done; });
  return m.fault;
}

// A look lets one thing run, whichever, so that whoever looks again and again gets there; it takes a while where nothing can,
// so that whoever it depends on, maybe another process, gets there, too.
Result cuEventQuery(cu::Event event) {
  DTC_FAKE_ENTER(false)
  FakeEvent &of = eventOf(event);
  if (of.capture)
    return cu::errorCapturedEvent;
  if (of.node && !of.node->done && !m.runOne())
    m.rest(lock);
  if (m.fault != cu::success)
    return m.fault;
  return !of.node || of.node->done ? cu::success : cu::errorNotReady;
}

Result cuEventElapsedTime(float *milliseconds, cu::Event begin, cu::Event end) {
  DTC_FAKE_ENTER(true)
  for (cu::Event event : {begin, end}) {
    const FakeEvent &of = eventOf(event);
    if (of.capture)
      return cu::errorCapturedEvent;
    if (!of.node || of.flags != cu::eventDefault)
      return cu::errorInvalidHandle;
    if (!of.node->done)
      return cu::errorNotReady;
  }
  *milliseconds =
      static_cast<float>((eventOf(end).node->seconds - eventOf(begin).node->seconds) * 1e3);
  return cu::success;
}

} // namespace

void fillDriver(cu::Driver &driver) {
#define DTC_CU(name, symbol, parameters) driver.name = name;
#include "runtime/cuda/Driver.def"
#undef DTC_CU
}

} // namespace dtc::rt::fake

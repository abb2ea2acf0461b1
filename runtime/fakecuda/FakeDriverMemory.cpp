// The fake driver: memory of GPUs and of the host, mapped or not, and copies.
#include "runtime/fakecuda/FakeDriver.h"

#include <algorithm>
#include <cstring>

namespace dtc::rt::fake::driver {

Result cuMemAlloc(cu::DevicePtr *address, size_t bytes) {
  DTC_FAKE_DRIVER(false)
  FakeGpu &gpu = m.current();
  if (bytes == 0)
    return cu::errorInvalidValue;
  awaitGpu(m, lock); // drivers may wait here
  void *memory = nullptr;
  if (bytes > m.options.memoryBytes - gpu.used || !gpu.memory.allocate(bytes, memory).ok())
    return cu::errorOutOfMemory;
  *address = reinterpret_cast<uintptr_t>(memory);
  gpu.allocations[*address] = bytes;
  gpu.used += bytes;
  ++m.alive["allocation"];
  return cu::success;
}

// Frees memory after waiting for all work that could use it.
Result cuMemFree(cu::DevicePtr address) {
  DTC_FAKE_DRIVER_FREE
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
  DTC_FAKE_DRIVER(true)
  *bytes = granularity;
  return of->type == 1 && of->location.type == 1 && kind == cu::granularityRecommended
             ? cu::success
             : cu::errorInvalidValue;
}

Result cuMemAddressReserve(cu::DevicePtr *address, size_t bytes, size_t alignment,
                           cu::DevicePtr wanted, unsigned long long flags) {
  DTC_FAKE_DRIVER(false)
  void *memory = nullptr;
  if (bytes == 0 || bytes % granularity != 0 || alignment != 0 || wanted != 0 || flags != 0)
    return cu::errorInvalidValue;
  // Memory beyond that of the GPU is not reserved either, as it would have to be kept here.
  if (bytes > m.options.memoryBytes || !m.current().memory.allocate(bytes, memory).ok())
    return cu::errorOutOfMemory;
  *address = reinterpret_cast<uintptr_t>(memory);
  m.current().reservations[*address] = bytes;
  ++m.alive["reservation"];
  return cu::success;
}

Result cuMemAddressFree(cu::DevicePtr address, size_t bytes) {
  DTC_FAKE_DRIVER_FREE
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
  DTC_FAKE_DRIVER(false)
  FakeGpu &gpu = m.current();
  // Arenas that others could map, and that do not let them, are slow.
  int wanted = m.options.fabric == FakeCudaOptions::Fabric ? cu::handleOfFile | cu::handleOfFabric
                                                           : cu::handleOfFile;
  if (m.options.fabric == FakeCudaOptions::RefusedFabric &&
      (properties->handles & cu::handleOfFabric) != 0)
    return cu::errorNotPermitted;
  if (bytes == 0 || bytes % granularity != 0 || flags != 0 || properties->handles != wanted ||
      properties->location.id != Machine::currentGpu)
    return cu::errorInvalidValue;
  awaitGpu(m, lock);
  if (bytes > m.options.memoryBytes - gpu.used)
    return cu::errorOutOfMemory;
  *made = m.calls; // a unique number
  gpu.created[*made] = bytes;
  gpu.used += bytes;
  ++m.alive["unreleased allocation"];
  return cu::success;
}

Result cuMemRelease(cu::Allocation allocation) {
  DTC_FAKE_DRIVER_FREE
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
  DTC_FAKE_DRIVER(false)
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
  DTC_FAKE_DRIVER(false)
  FakeGpu &gpu = m.current();
  constexpr int readsAndWrites = 3;
  if (gpu.mapped.count(address) == 0 || gpu.reservations[address] != bytes || count != 1 ||
      access->flags != readsAndWrites || access->location.id != Machine::currentGpu)
    return cu::errorInvalidValue;
  gpu.accessible.insert(address);
  return cu::success;
}

// Unmaps memory after waiting for all work that could use it.
Result cuMemUnmap(cu::DevicePtr address, size_t bytes) {
  DTC_FAKE_DRIVER_FREE
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
  DTC_FAKE_DRIVER(false)
  constexpr size_t page = 4096;
  awaitGpu(m, lock); // drivers may wait here
  *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (!*memory)
    return cu::errorOutOfMemory;
  std::memset(*memory, 0xa5, bytes); // content is arbitrary
  if (!m.current().memory.addHostRange(*memory, bytes).ok())
    return cu::errorInvalidValue;
  m.pinned[static_cast<char *>(*memory)] = bytes;
  ++m.alive["pinned allocation"];
  return cu::success;
}

Result cuMemFreeHost(void *memory) {
  DTC_FAKE_DRIVER_FREE
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
  DTC_FAKE_DRIVER(true)
  if (!m.isPinned(host, 1) || flags != 0)
    return cu::errorInvalidValue;
  *address = reinterpret_cast<uintptr_t>(host);
  return cu::success;
}

// Copies as nodes. They read when they run.
static std::function<Status()> copyIn(FakeGpu &gpu, cu::DevicePtr to, const void *from,
                                      size_t bytes) {
  return [&gpu, to, from, bytes]() -> Status {
    DTC_RETURN_IF_ERROR(gpu.memory.checkWrite(pointer(to), bytes, "copy from the host"));
    std::memcpy(pointer(to), from, bytes);
    return gpu.memory.markWritten(pointer(to), bytes);
  };
}

static std::function<Status()> copyOut(FakeGpu &gpu, void *to, cu::DevicePtr from, size_t bytes) {
  return [&gpu, to, from, bytes]() -> Status {
    DTC_RETURN_IF_ERROR(gpu.memory.checkRead(pointer(from), bytes, "copy to the host"));
    std::memcpy(to, pointer(from), bytes);
    return {};
  };
}

static std::function<Status()> fill(FakeGpu &gpu, cu::DevicePtr to, unsigned char value,
                                    size_t bytes) {
  return [&gpu, to, value, bytes]() -> Status {
    DTC_RETURN_IF_ERROR(gpu.memory.checkWrite(pointer(to), bytes, "fill"));
    std::memset(pointer(to), value, bytes);
    return gpu.memory.markWritten(pointer(to), bytes);
  };
}

// Copies memory that is not pinned: the bytes are taken now, and land later, on the default stream.
Result cuMemcpyHtoD(cu::DevicePtr to, const void *from, size_t bytes) {
  DTC_FAKE_DRIVER(false)
  const auto *begin = static_cast<const char *>(from);
  auto held = std::make_shared<std::vector<char>>(begin, begin + bytes);
  FakeGpu &gpu = m.current();
  auto copy = copyIn(gpu, to, held->data(), bytes);
  return m.push(gpu.defaultStream, [held, copy] { return copy(); });
}

Result cuMemcpyDtoH(void *to, cu::DevicePtr from, size_t bytes) {
  DTC_FAKE_DRIVER(false)
  FakeGpu &gpu = m.current();
  Result result = m.push(gpu.defaultStream, copyOut(gpu, to, from, bytes));
  NodePtr node = gpu.defaultStream.last;
  m.runUntil(lock, [&] { return node->done; });
  return result == cu::success ? m.fault : result;
}

// Enqueues a copy, which requires pinned memory: other memory would make the host wait, and would
// be captured with its present content.
Result cuMemcpyHtoDAsync(cu::DevicePtr to, const void *from, size_t bytes, cu::Stream stream) {
  DTC_FAKE_DRIVER(true)
  if (!m.isPinned(from, bytes))
    return cu::errorInvalidValue;
  FakeStream &on = streamOf(m, stream);
  Result result = m.push(on, copyIn(*m.gpus[static_cast<size_t>(on.gpu)], to, from, bytes));
  m.await(lock, on);
  return result;
}

Result cuMemcpyDtoHAsync(void *to, cu::DevicePtr from, size_t bytes, cu::Stream stream) {
  DTC_FAKE_DRIVER(true)
  if (!m.isPinned(to, bytes))
    return cu::errorInvalidValue;
  FakeStream &on = streamOf(m, stream);
  return m.push(on, copyOut(*m.gpus[static_cast<size_t>(on.gpu)], to, from, bytes));
}

Result cuMemcpyDtoDAsync(cu::DevicePtr to, cu::DevicePtr from, size_t bytes, cu::Stream stream) {
  DTC_FAKE_DRIVER(true)
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
  DTC_FAKE_DRIVER(false)
  FakeGpu &gpu = m.current();
  if (gpu.reservations.count(to) > 0 && gpu.accessible.count(to) == 0)
    return cu::errorInvalidValue;
  return m.push(gpu.defaultStream, fill(gpu, to, value, bytes));
}

Result cuMemsetD8Async(cu::DevicePtr to, unsigned char value, size_t bytes, cu::Stream stream) {
  DTC_FAKE_DRIVER(true)
  FakeStream &on = streamOf(m, stream);
  Result result = m.push(on, fill(*m.gpus[static_cast<size_t>(on.gpu)], to, value, bytes));
  m.await(lock, on);
  return result;
}

} // namespace dtc::rt::fake::driver

#include "runtime/cuda/CudaArena.h"

namespace dtc::rt {

CudaArena::~CudaArena() {
  if (isMapped)
    (void)driver.cuMemUnmap(reserved, reservedBytes);
  if (reserved)
    (void)driver.cuMemAddressFree(reserved, reservedBytes);
  else if (memory)
    (void)driver.cuMemFree(memory);
}

Status CudaArena::canMap(cu::Device device, bool &can) const {
  int hasMaps = 0, hasFiles = 0;
  DTC_CUDA(driver, cuDeviceGetAttribute, &hasMaps, cu::attributeVirtualMemory, device);
  DTC_CUDA(driver, cuDeviceGetAttribute, &hasFiles, cu::attributeMemoryAsFile, device);
  can = hasMaps && hasFiles;
  return {};
}

Status CudaArena::findHandles(cu::Device device, int &handles) const {
  int hasFabric = 0;
  cu::Result result = driver.cuDeviceGetAttribute(&hasFabric, cu::attributeMemoryOnFabric, device);
  if (result != cu::errorInvalidValue) // a driver before CUDA 12.3, which knows of none
    DTC_RETURN_IF_ERROR(cu::check(driver, "cuDeviceGetAttribute", result));
  handles = cu::handleOfFile | (hasFabric ? cu::handleOfFabric : 0);
  return {};
}

Status CudaArena::map(cu::Device device, uint64_t bytes) {
  cu::AllocationProperties properties;
  properties.location.id = device;
  int hasDirect = 0;
  DTC_CUDA(driver, cuDeviceGetAttribute, &hasDirect, cu::attributeDirectNetwork, device);
  properties.isForNetwork = hasDirect ? 1 : 0;
  DTC_RETURN_IF_ERROR(findHandles(device, properties.handles));
  size_t granularity = 0;
  DTC_CUDA(driver, cuMemGetAllocationGranularity, &granularity, &properties,
           cu::granularityRecommended);
  uint64_t size = (bytes + granularity - 1) / granularity * granularity;
  DTC_CUDA(driver, cuMemAddressReserve, &reserved, size, 0, 0, 0);
  reservedBytes = size;
  cu::Allocation allocation = 0;
  cu::Result created = driver.cuMemCreate(&allocation, size, &properties, 0);
  // Fabrics need a service on the machine, which may be off.
  if (created != cu::success && created != cu::errorOutOfMemory &&
      properties.handles != cu::handleOfFile) {
    properties.handles = cu::handleOfFile;
    created = driver.cuMemCreate(&allocation, size, &properties, 0);
  }
  DTC_RETURN_IF_ERROR(cu::check(driver, "cuMemCreate", created));
  Status mapped = cu::check(driver, "cuMemMap", driver.cuMemMap(reserved, size, 0, allocation, 0));
  isMapped = mapped.ok();
  // The mapping keeps the memory until it is removed.
  Status released = cu::check(driver, "cuMemRelease", driver.cuMemRelease(allocation));
  DTC_RETURN_IF_ERROR(mapped);
  DTC_RETURN_IF_ERROR(released);
  cu::AccessDescription access{.location = properties.location};
  DTC_CUDA(driver, cuMemSetAccess, reserved, size, &access, 1);
  memory = reserved;
  return {};
}

Status CudaArena::allocate(cu::Device device, uint64_t bytes) {
  bool can = false;
  DTC_RETURN_IF_ERROR(canMap(device, can));
  if (can)
    return map(device, bytes);
  DTC_CUDA(driver, cuMemAlloc, &memory, bytes);
  return {};
}

} // namespace dtc::rt

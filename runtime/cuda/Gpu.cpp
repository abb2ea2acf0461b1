#include "runtime/cuda/Gpu.h"

#include "runtime/base/Text.h"

#include <array>
#include <charconv>

namespace dtc::rt {

using format::text;

Gpu::~Gpu() {
  if (context)
    (void)driver.cuDevicePrimaryCtxRelease(device);
}

Status Gpu::open(int localRank) {
  DTC_CUDA(driver, cuInit, 0);
  int gpus = 0;
  DTC_CUDA(driver, cuDeviceGetCount, &gpus);
  if (gpus == 0)
    return Status::unavailable(
        "the driver of NVIDIA's GPUs finds no GPU that this process may use; set "
        "CUDA_VISIBLE_DEVICES, or recompile with dtc for device cpu");
  int ordinal = localRank % gpus;
  DTC_CUDA(driver, cuDeviceGet, &device, ordinal);
  std::array<char, 256> name{};
  DTC_CUDA(driver, cuDeviceGetName, name.data(), static_cast<int>(name.size() - 1), device);
  modelName = name.data();
  description = text("GPU ", ordinal, " '", modelName, "'");
  int major = 0, minor = 0;
  DTC_CUDA(driver, cuDeviceGetAttribute, &major, cu::attributeMajor, device);
  DTC_CUDA(driver, cuDeviceGetAttribute, &minor, cu::attributeMinor, device);
  capability = 10 * major + minor;
  cu::Context retained = nullptr;
  DTC_CUDA(driver, cuDevicePrimaryCtxRetain, &retained, device);
  context = retained;
  DTC_CUDA(driver, cuCtxSetCurrent, context);
  return {};
}

Status Gpu::checkArch(const std::string &arch) const {
  int wanted = 0;
  constexpr size_t prefix = 3; // sm_
  if (arch.size() > prefix)
    std::from_chars(arch.data() + prefix, arch.data() + arch.size(), wanted);
  if (wanted <= capability)
    return {};
  return Status::unavailable(text("the program's code is for ", arch, " or later and ", description,
                                  " is sm_", capability, "; recompile with dtc for sm_",
                                  capability));
}

Status Gpu::pciAddress(std::array<int, 3> &pciAddress) const {
  constexpr std::array<int, 3> attributes{cu::attributePciDomain, cu::attributePciBus,
                                          cu::attributePciDevice};
  for (size_t i = 0; i < attributes.size(); ++i)
    DTC_CUDA(driver, cuDeviceGetAttribute, &pciAddress[i], attributes[i], device);
  return {};
}

} // namespace dtc::rt

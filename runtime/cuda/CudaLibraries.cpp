#include "runtime/cuda/CudaLibraries.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace dtc::rt {
namespace {

class SystemLibraries : public CudaLibraries {
public:
  const char *device() const override { return "cuda"; }
  std::string machine() const override {
    std::string words;
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    if (std::getline(boot, words))
      return words;
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
  }
  Status driver(const cu::Driver *&table) override {
    if (!hasDriver) {
      // Read by cuInit: streams that wait for other ranks must not block those that these wait for.
      setDefault("CUDA_DEVICE_MAX_CONNECTIONS", "32");
      DTC_RETURN_IF_ERROR(cu::openDriver(driverTable));
    }
    hasDriver = true;
    table = &driverTable;
    return {};
  }
  Status blasLt(const cu::BlasLt *&table) override {
    if (!hasBlas) {
      const cu::Driver *open = nullptr;
      DTC_RETURN_IF_ERROR(driver(open));
      int version = 0;
      DTC_CUDA(*open, cuDriverGetVersion, &version);
      DTC_RETURN_IF_ERROR(cu::openBlasLt(blasTable, version));
    }
    hasBlas = true;
    table = &blasTable;
    return {};
  }
  Status cudnn(const cu::Cudnn *&table) override {
    if (!hasCudnn)
      DTC_RETURN_IF_ERROR(cu::openCudnn(cudnnTable));
    hasCudnn = true;
    table = &cudnnTable;
    return {};
  }

  Status nccl(const cu::Nccl *&table) override {
    if (!hasNccl) {
      // Makes communicators that are used concurrently keep the order of the program; they may
      // deadlock otherwise.
      setDefault("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
      // Connects hosts when communicators are created, in one order, instead of when steps are
      // recorded.
      setDefault("NCCL_RUNTIME_CONNECT", "0");
      DTC_RETURN_IF_ERROR(cu::openNccl(ncclTable));
    }
    hasNccl = true;
    table = &ncclTable;
    return {};
  }

private:
  // Sets a variable unless the user has set it.
  static void setDefault(const char *name, const char *value) {
    ::setenv(name, value, /*overwrite=*/0);
  }

  cu::Driver driverTable;
  cu::BlasLt blasTable;
  cu::Cudnn cudnnTable;
  cu::Nccl ncclTable;
  bool hasDriver = false, hasBlas = false, hasCudnn = false, hasNccl = false;
};

} // namespace

std::unique_ptr<CudaLibraries> systemCudaLibraries() { return std::make_unique<SystemLibraries>(); }

} // namespace dtc::rt

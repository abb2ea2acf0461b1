#include "runtime/cuda/CudaLibraries.h"

#include "runtime/cuda/NcclVersion.h"

#include <array>
#include <fstream>
#include <unistd.h>
#include <utility>

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
      add(prepareDriverEnvironment(environment())); // cuInit reads it
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
      add(prepareNcclEnvironment(environment()));
      DTC_RETURN_IF_ERROR(cu::openNccl(ncclTable));
      ncclTable.toolkit = cu::toolkitOf(reinterpret_cast<const void *>(ncclTable.ncclGetVersion));
      const cu::Driver *open = nullptr;
      DTC_RETURN_IF_ERROR(driver(open));
      int version = 0;
      DTC_CUDA(*open, cuDriverGetVersion, &version);
      DTC_RETURN_IF_ERROR(cu::checkVersions(ncclTable, version));
    }
    hasNccl = true;
    table = &ncclTable;
    return {};
  }

  int process() const override { return ::getpid(); }
  Environment environment() override { return Environment::ofProcess(); }
  std::vector<std::string> takeMessages() override { return std::exchange(messages, {}); }

private:
  void add(const std::vector<std::string> &more) {
    messages.insert(messages.end(), more.begin(), more.end());
  }

  std::vector<std::string> messages;
  cu::Driver driverTable;
  cu::BlasLt blasTable;
  cu::Cudnn cudnnTable;
  cu::Nccl ncclTable;
  bool hasDriver = false, hasBlas = false, hasCudnn = false, hasNccl = false;
};

} // namespace

std::unique_ptr<CudaLibraries> systemCudaLibraries() { return std::make_unique<SystemLibraries>(); }

} // namespace dtc::rt

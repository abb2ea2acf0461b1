#include "runtime/cuda/CudaLibraries.h"

namespace dtc::rt {
namespace {

class SystemLibraries : public CudaLibraries {
public:
  const char *device() const override { return "cuda"; }
  Status driver(const cu::Driver *&table) override {
    if (!hasDriver)
      DTC_RETURN_IF_ERROR(cu::openDriver(driverTable));
    hasDriver = true;
    table = &driverTable;
    return {};
  }
  Status blasLt(const cu::BlasLt *&table) override {
    if (!hasBlas)
      DTC_RETURN_IF_ERROR(cu::openBlasLt(blasTable));
    hasBlas = true;
    table = &blasTable;
    return {};
  }

  Status nccl(const cu::Nccl *&table) override {
    if (!hasNccl)
      DTC_RETURN_IF_ERROR(cu::openNccl(ncclTable));
    hasNccl = true;
    table = &ncclTable;
    return {};
  }

private:
  cu::Driver driverTable;
  cu::BlasLt blasTable;
  cu::Nccl ncclTable;
  bool hasDriver = false, hasBlas = false, hasNccl = false;
};

} // namespace

std::unique_ptr<CudaLibraries> systemCudaLibraries() { return std::make_unique<SystemLibraries>(); }

} // namespace dtc::rt

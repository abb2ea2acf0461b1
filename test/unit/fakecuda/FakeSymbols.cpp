// The functions of the emulated GPU's driver by their names in libcuda.so.1, for callers that are not of this tree: test/gpu/kernels.py.
#include "runtime/fakecuda/FakeCuda.h"

#include <cstring>

// The function of the driver that has this symbol; null where CudaDevice calls none of that name.
extern "C" __attribute__((visibility("default"))) void *dtcFakeDriver(const char *wanted) {
  static std::unique_ptr<dtc::rt::FakeCuda> fake = dtc::rt::makeFakeCuda({});
  const dtc::rt::cu::Driver *driver = nullptr;
  if (!fake->driver(driver).ok())
    return nullptr;
#define DTC_CU(name, symbol, parameters)                                                           \
  if (std::strcmp(wanted, symbol) == 0)                                                            \
    return reinterpret_cast<void *>(driver->name);
#include "runtime/cuda/Driver.def"
#undef DTC_CU
  return nullptr;
}

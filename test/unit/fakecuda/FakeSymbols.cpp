// Exports the functions of the emulated GPU's driver by their names in libcuda.so.1, for callers
// outside of the C++ tests: test/gpu/kernels.py.
#include "runtime/fakecuda/FakeCuda.h"

#include <cstring>

// Returns the driver's function of this name; null if CudaDevice calls no such function.
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

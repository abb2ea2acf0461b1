// CUDA's driver as a table of functions, so that one binary runs on machines with and without it,
// and a fake can replace it.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/cuda/DriverTypes.h"

#include <atomic>
#include <memory>

namespace dtc::rt::cu {

// The functions of CUDA's driver, null until openDriver.
struct Driver {
  // Set when a call through any copy of this table returns an error that its context does not
  // survive.
  std::shared_ptr<std::atomic<bool>> isLost = std::make_shared<std::atomic<bool>>(false);

#define DTC_CU(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "runtime/cuda/Driver.def"
#undef DTC_CU
};

// Fills the table from libcuda.so.1. The error Unavailable names what is missing.
Status openDriver(Driver &driver);

// Makes the calls that free something or wait for the GPU do nothing: it will never be idle again,
// and the process ends soon.
void leaveAll(Driver &driver);

// Returns success, or an error such as "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory".
Status check(const Driver &driver, const char *call, Result result);

} // namespace dtc::rt::cu

// DTC_CUDA(driver, cuMemFree, address) calls driver.cuMemFree(address) and returns its error, if
// any.
#define DTC_CUDA(driver, function, ...)                                                            \
  DTC_RETURN_IF_ERROR(::dtc::rt::cu::check((driver), #function, (driver).function(__VA_ARGS__)))

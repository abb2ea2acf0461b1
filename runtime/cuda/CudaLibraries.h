// The libraries that a CUDA device calls: those of this machine, or the fakes of runtime/fakecuda.
#pragma once

#include "runtime/cuda/BlasLt.h"
#include "runtime/cuda/CudaEnvironment.h"
#include "runtime/cuda/Cudnn.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Nccl.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Opens each library at its first use and keeps it open for the lifetime of this object.
class CudaLibraries {
public:
  virtual ~CudaLibraries() = default;
  // Returns the device that files must be compiled for: "cuda", or "simt" if the GPU is emulated.
  virtual const char *device() const = 0;
  // Returns an identity of this machine that its containers share.
  virtual std::string machine() const = 0;
  // Returns the number of this process; emulated ranks, which are threads, may have one each.
  virtual int process() const = 0;
  // Opens CUDA's driver. Fails with Unavailable if it is missing.
  virtual Status driver(const cu::Driver *&driver) = 0;
  // Opens cuBLASLt. Fails with Unavailable if it is missing.
  virtual Status blasLt(const cu::BlasLt *&blas) = 0;
  // Opens cuDNN. Fails with Unavailable if it is missing or too old.
  virtual Status cudnn(const cu::Cudnn *&cudnn) = 0;
  // Opens NCCL. Fails with Unavailable if it is missing, too old, or of another CUDA than the
  // driver.
  virtual Status nccl(const cu::Nccl *&nccl) = 0;
  // Returns the environment that the libraries read.
  virtual Environment environment() = 0;
  // Returns messages for the user of what was changed in the environment so far, each once.
  virtual std::vector<std::string> takeMessages() = 0;
};

// Returns the libraries of this machine.
std::unique_ptr<CudaLibraries> systemCudaLibraries();

} // namespace dtc::rt

// The libraries that a CUDA device calls: those of this machine, or the fakes of runtime/fakecuda.
#pragma once

#include "runtime/cuda/BlasLt.h"
#include "runtime/cuda/Cudnn.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Nccl.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Each is opened when it is asked for first; it stays as long as this object does.
class CudaLibraries {
public:
  virtual ~CudaLibraries() = default;
  // What files have to be for: "cuda", or "simt" where the GPU is emulated.
  virtual const char *device() const = 0;
  // What tells this machine from others: nothing of it that a container could have to itself.
  virtual std::string machine() const = 0;
  virtual Status driver(const cu::Driver *&driver) = 0;
  virtual Status blasLt(const cu::BlasLt *&blas) = 0;
  virtual Status cudnn(const cu::Cudnn *&cudnn) = 0;
  virtual Status nccl(const cu::Nccl *&nccl) = 0;
};

std::unique_ptr<CudaLibraries> systemCudaLibraries();

} // namespace dtc::rt

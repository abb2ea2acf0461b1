// Checks every CUDA call. The first one that fails ends the program and prints its place and name.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

// Prints that `what` failed because of `why`, and ends the program with exit code 1.
[[noreturn]] inline void die(const char *what, const char *why, const char *file, int line) {
  std::fprintf(stderr, "calibrate-gpu: %s: %s (%s:%d)\n", what, why, file, line);
  std::exit(1);
}

#define CHECK_CUDA(call)                                                                           \
  do {                                                                                             \
    cudaError_t checkedStatus = (call);                                                            \
    if (checkedStatus != cudaSuccess)                                                              \
      die(#call, cudaGetErrorString(checkedStatus), __FILE__, __LINE__);                           \
  } while (false)

#define CHECK_LT(call)                                                                             \
  do {                                                                                             \
    cublasStatus_t checkedStatus = (call);                                                         \
    if (checkedStatus != CUBLAS_STATUS_SUCCESS)                                                    \
      die(#call, cublasLtGetStatusString(checkedStatus), __FILE__, __LINE__);                      \
  } while (false)

// Use after a kernel launch: checks its configuration, and reports errors of earlier asynchronous
// work.
#define CHECK_LAUNCH() CHECK_CUDA(cudaGetLastError())

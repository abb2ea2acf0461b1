// Chooses the instruction set once, by cpuid.
#include "kernels/cpu/IsaKernels.h"

#include <atomic>
#include <cstring>

namespace dtc::cpu {

namespace {

bool hasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

std::atomic<const IsaKernels *> &chosen() {
  static std::atomic<const IsaKernels *> kernels{hasAvx512() ? &avx512::kernels : &avx2::kernels};
  return kernels;
}

} // namespace

const IsaKernels &isaKernels() { return *chosen().load(std::memory_order_relaxed); }

bool selectIsa(const char *name) {
  if (std::strcmp(name, avx2::kernels.name) == 0)
    chosen().store(&avx2::kernels, std::memory_order_relaxed);
  else if (std::strcmp(name, avx512::kernels.name) == 0 && hasAvx512())
    chosen().store(&avx512::kernels, std::memory_order_relaxed);
  else
    return false;
  return true;
}

} // namespace dtc::cpu

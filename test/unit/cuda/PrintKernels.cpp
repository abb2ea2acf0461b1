// Prints every hand-written CUDA kernel with the threads and the dynamic shared memory of a block,
// for bench/cuda-resources.py.
#include "test/unit/cuda/KernelList.h"

#include <cstdio>

int main() {
  for (const dtc::cuda::Launch &launch : dtc::cuda::allLaunches())
    std::printf("%s %u %u\n", launch.kernel.c_str(), launch.threads, launch.sharedBytes);
}

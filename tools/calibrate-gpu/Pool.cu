// Allocates and fills device memory with random values.
#include "Pool.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace {

// Returns a value in [-1, 1) for a counter, by the finalizer of MurmurHash3.
__device__ float valueOf(uint64_t index) {
  index ^= index >> 33;
  index *= 0xff51afd7ed558ccdULL;
  index ^= index >> 33;
  index *= 0xc4ceb9fe1a85ec53ULL;
  index ^= index >> 33;
  return float(uint32_t(index) >> 8) / 8388608.0F - 1;
}

template <typename T> __global__ void fillKernel(T *values, int64_t count) {
  int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    values[i] = T(valueOf(uint64_t(i)));
}

template <typename T> void fillWith(void *memory, int64_t bytes, cudaStream_t stream) {
  fillKernel<T><<<2048, 256, 0, stream>>>(static_cast<T *>(memory), bytes / int64_t(sizeof(T)));
  CHECK_LAUNCH();
}

} // namespace

Pool::Pool(int64_t bytes, Fill fill, cudaStream_t stream) : total((bytes + 255) / 256 * 256) {
  CHECK_CUDA(cudaMalloc(reinterpret_cast<void **>(&memory), size_t(total)));
  switch (fill) {
  case Fill::F32:
    fillWith<float>(memory, total, stream);
    break;
  case Fill::BF16:
    fillWith<__nv_bfloat16>(memory, total, stream);
    break;
  case Fill::F16:
    fillWith<__half>(memory, total, stream);
    break;
  case Fill::FP8:
    fillWith<__nv_fp8_e4m3>(memory, total, stream);
    break;
  case Fill::Nothing:
    CHECK_CUDA(cudaMemsetAsync(memory, 0, size_t(total), stream));
    break;
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
}

Pool::~Pool() { (void)cudaFree(memory); }

void *Pool::take(int64_t bytes) {
  int64_t rounded = (bytes + 255) / 256 * 256;
  if (rounded > total)
    die("taking an operand from the pool", "it is larger than the pool", __FILE__, __LINE__);
  if (next + rounded > total)
    next = 0;
  void *result = memory + next;
  next += rounded;
  return result;
}

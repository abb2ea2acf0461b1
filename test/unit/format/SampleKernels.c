// Kernels of the sample program, written by hand, with the signature that dtc gives to its
// generated ones.
#include <stdint.h>

// Sets loss[0] to the mean over 64 elements of x * x; range 1.
void mean_square(char *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  (void)scalars;
  const float *x = (const float *)buffers[0];
  float *loss = (float *)buffers[1];
  for (int64_t unit = begin; unit < end; ++unit) {
    float sum = 0;
    for (int i = 0; i < 64; ++i)
      sum += x[i] * x[i];
    loss[unit] = sum / 64;
  }
}

// Sets w[i] *= 1 - lr[0]; range 128.
void decay(char *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  (void)scalars;
  float *w = (float *)buffers[0];
  const float *lr = (const float *)buffers[1];
  for (int64_t i = begin; i < end; ++i)
    w[i] *= 1 - lr[0];
}

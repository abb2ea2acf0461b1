// The loops whose memory traffic is timed. They are compiled as codegen compiles the loops of
// programs.
#include "compiler/measure/calibrate/MemoryLoops.h"

#include <algorithm>

namespace dtc {

void triadLoop(float *__restrict out, const float *__restrict a, const float *__restrict b, float s,
               int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] + s * b[i];
}

// Pade approximant of order 5 over 4, clipped outside of [-1, 1].
static inline float tanhOf(float x) {
  x = std::clamp(x, -3.6F, 3.6F);
  float square = x * x;
  return x * (945 + square * (105 + square)) / (945 + square * (420 + square * 15));
}

static inline float geluOf(float x) {
  return 0.5F * x * (1 + tanhOf(0.7978845608F * (x + 0.044715F * x * x * x)));
}

void pointwiseLoop(float *__restrict out, const float *__restrict a, const float *__restrict bias,
                   int64_t width, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end;) {
    int64_t column = i % width, count = std::min(end - i, width - column);
    for (int64_t j = 0; j < count; ++j)
      out[i + j] = geluOf(a[i + j] + bias[column + j]);
    i += count;
  }
}

} // namespace dtc

// The loops whose memory traffic is timed.
#pragma once

#include <cstdint>

namespace dtc {

// Computes out[i] = a[i] + s b[i] for i in [begin, end). The three arrays must not overlap.
void triadLoop(float *out, const float *a, const float *b, float s, int64_t begin, int64_t end);

// Computes out[i] = gelu(a[i] + bias[i % width]), with a rational tanh. `width` must be positive.
void pointwiseLoop(float *out, const float *a, const float *bias, int64_t width, int64_t begin,
                   int64_t end);

} // namespace dtc

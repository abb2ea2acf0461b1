// The loops whose memory traffic is timed.
#pragma once

#include <cstdint>

namespace dtc {

// out[i] = a[i] + s b[i] for i in [begin, end). The three do not overlap.
void triadLoop(float *out, const float *a, const float *b, float s, int64_t begin, int64_t end);

// out[i] = gelu(a[i] + bias[i % width]), with a rational tanh. `width` > 0.
void pointwiseLoop(float *out, const float *a, const float *bias, int64_t width, int64_t begin,
                   int64_t end);

} // namespace dtc

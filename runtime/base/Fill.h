// Initial values of parameters, equal for all plans: each depends only on the seed, the tensor's
// key and the element's global index.
//
// Element e (row-major, unpadded) of a normal tensor with key K: Philox4x32-10 under the seed with
// counter {lo32(e/2), hi32(e/2), lo32(K), hi32(K)} gives words w0, w1; u = (w + 0.5) / 2^32;
// Box-Muller r = sqrt(-2 ln u0), z = r cos(2 pi u1) for even e and r sin(2 pi u1) for odd e, in
// double; the value is float(mean + stddev * z). Padding is 0.
#pragma once

#include "runtime/base/TensorSpec.h"

namespace dtc::rt {

// Fills `local` (as many elements as spec.localShape) for the rank at `coordinates` of the mesh,
// with up to `threads` threads. InvalidArgument if sizes do not agree.
Status initialiseTensor(const TensorSpec &spec, uint64_t seed, std::span<const uint32_t> meshSizes,
                        std::span<const uint32_t> coordinates, std::span<float> local,
                        int threads = 1);

} // namespace dtc::rt

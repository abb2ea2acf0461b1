// Computes what an input of a program takes, and which part of it one rank reads.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/SampleSource.h"
#include "runtime/data/Sampler.h"
#include "runtime/format/dte_generated.h"

#include <vector>

namespace dtc::rt {

// Returns the name, element type and shape of one sample of the input, over all ranks.
SampleType sampleTypeOf(const format::Input &input);

// Finds the position of the rank at `coordinates` (one per mesh axis) among those that split the
// samples, and the elements of a sample that it reads. The input must have passed the verifier.
// Example: samples of 8 tokens, zig-zag over 2 ranks: rank 1 reads tokens 2 to 3 and 4 to 5.
Status findPart(const format::Input &input, const format::Manifest &manifest,
                const std::vector<uint32_t> &coordinates, BatchSpec &spec);

} // namespace dtc::rt

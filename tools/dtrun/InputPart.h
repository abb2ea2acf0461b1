// What an input of a program takes, and the part of it that one rank reads.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/SampleSource.h"
#include "runtime/data/Sampler.h"
#include "runtime/format/dte_generated.h"

#include <vector>

namespace dtc::rt {

SampleType sampleTypeOf(const format::Input &input);

// Where the rank at `coordinates` (one per mesh axis) stands among those that split the samples,
// and which elements of a sample it reads. The input must have passed the verifier.
// Example: samples of 8 tokens, zig-zag over 2 ranks: rank 1 reads tokens 2 to 3 and 4 to 5.
Status findPart(const format::Input &input, const format::Manifest &manifest,
                const std::vector<uint32_t> &coordinates, BatchSpec &spec);

} // namespace dtc::rt

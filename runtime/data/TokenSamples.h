// Samples of tokens.
#pragma once

#include "runtime/data/SampleSource.h"
#include "runtime/data/TokenSource.h"

#include <cstdint>
#include <memory>

namespace dtc::rt {

// Makes samples of windows: sample i is the `length` tokens from i * length + shift on. There are
// (tokens - 1) / length of them, for shifts of 0 (tokens) and 1 (targets: the next tokens).
// InvalidArgument if the source is too short for one: names it, tokens found and needed.
Status makeTokenSamples(std::shared_ptr<const TokenSource> tokens, uint64_t length, uint64_t shift,
                        std::unique_ptr<SampleSource> &source);

} // namespace dtc::rt

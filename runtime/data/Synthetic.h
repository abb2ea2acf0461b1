// Random tokens.
#pragma once

#include "runtime/data/TokenSource.h"

#include <memory>

namespace dtc::rt {

// Makes random tokens below the vocabulary, from the seed.
std::unique_ptr<TokenSource> makeSyntheticTokens(const TokenSourceOptions &options);

} // namespace dtc::rt

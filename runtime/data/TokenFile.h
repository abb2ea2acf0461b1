// Opens the tokens of one file.
#pragma once

#include "runtime/data/TokenPath.h"
#include "runtime/data/TokenSource.h"

#include <memory>

namespace dtc::rt {

// Opens the tokens of one file. Errors and formats: see openTokens.
Status openTokenFile(const TokenPath &path, const TokenSourceOptions &options,
                     std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt

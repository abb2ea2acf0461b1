// Opens the token files of a folder.
#pragma once

#include "runtime/data/TokenPath.h"
#include "runtime/data/TokenSource.h"

#include <memory>

namespace dtc::rt {

// Opens the token files of a folder. Errors and formats: see openTokens.
Status openTokenFolder(const TokenPath &path, const TokenSourceOptions &options,
                       std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt

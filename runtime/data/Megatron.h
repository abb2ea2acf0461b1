// Megatron data sets.
#pragma once

#include "runtime/data/TokenSource.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Opens a Megatron data set; `stem` is the path without ".bin" and ".idx".
Status openMegatron(const std::string &stem, const TokenSourceOptions &options,
                    std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt

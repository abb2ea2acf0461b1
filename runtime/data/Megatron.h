// Megatron data sets.
#pragma once

#include "runtime/data/TokenSource.h"

#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

// Opens a Megatron data set; `stem` is the path without ".bin" and ".idx".
Status openMegatron(const std::string &stem, const TokenSourceOptions &options,
                    std::unique_ptr<TokenSource> &source);

// Sets where the documents of a data set of `tokens` tokens end, ascending, as its index says.
// Documents without tokens are left out; sequences behind the last bound are one document.
Status megatronDocumentEnds(const std::string &stem, uint64_t tokens, std::vector<uint64_t> &ends);

} // namespace dtc::rt

// Ids without a header.
#pragma once

#include "runtime/base/File.h"
#include "runtime/data/TokenPath.h"
#include "runtime/data/TokenSource.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Opens ids without a header: of the stated width, or of the width that the vocabulary implies.
// InvalidArgument if no width is implied, or if the ids cannot have it; the message says how to
// state it. `missingIndex` is the .idx that a Megatron data set would have, empty for none.
Status openPlainIds(InputFile file, StatedFormat stated, const std::string &missingIndex,
                    const TokenSourceOptions &options, std::unique_ptr<TokenSource> &source);

} // namespace dtc::rt

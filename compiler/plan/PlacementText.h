// How plans write the placement of a tensor on one mesh axis.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dtc {

// "shard(2)" for 2.
std::string shardText(int64_t dim);

// The reverse; nothing for another text.
std::optional<int64_t> shardDimOf(llvm::StringRef text);

} // namespace dtc

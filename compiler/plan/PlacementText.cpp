// Writes and reads the placement of a tensor on one mesh axis.
#include "compiler/plan/PlacementText.h"

namespace dtc {

std::string shardText(int64_t dim) { return "shard(" + std::to_string(dim) + ")"; }

std::optional<int64_t> shardDimOf(llvm::StringRef text) {
  int64_t dim;
  if (!text.consume_front("shard(") || !text.consume_back(")") || text.getAsInteger(10, dim) ||
      dim < 0)
    return std::nullopt;
  return dim;
}

} // namespace dtc

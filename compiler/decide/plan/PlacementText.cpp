// Writes and reads the placement of a tensor on one mesh axis.
#include "compiler/decide/plan/PlacementText.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

std::string shardText(int64_t dim) { return "shard(" + std::to_string(dim) + ")"; }

std::optional<int64_t> shardDimOf(llvm::StringRef text) {
  int64_t dim;
  if (!text.consume_front("shard(") || !text.consume_back(")") || text.getAsInteger(10, dim) ||
      dim < 0)
    return std::nullopt;
  return dim;
}

std::string placementText(llvm::ArrayRef<int64_t> dims) {
  std::string text;
  for (int64_t dim : llvm::all_equal(dims) ? dims.take_front() : dims)
    text += (text.empty() ? "" : "/") + (dim < 0 ? "replicate" : shardText(dim));
  return text;
}

std::optional<llvm::SmallVector<int64_t, 2>> placementDimsOf(llvm::StringRef text, size_t numAxes) {
  llvm::SmallVector<llvm::StringRef, 2> parts;
  text.split(parts, '/');
  llvm::SmallVector<int64_t, 2> dims;
  for (llvm::StringRef part : parts) {
    std::optional<int64_t> dim = shardDimOf(part);
    if (!dim && part != "replicate")
      return std::nullopt;
    dims.push_back(dim.value_or(-1));
  }
  if (dims.size() == 1)
    dims.resize(numAxes, dims.front());
  return dims.size() == numAxes ? std::optional(dims) : std::nullopt;
}

} // namespace dtc

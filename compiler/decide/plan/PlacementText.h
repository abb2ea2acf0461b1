// Text of a tensor's placement on one mesh axis, as plans write it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dtc {

// "shard(2)" for 2.
std::string shardText(int64_t dim);

// The reverse; nothing for another text.
std::optional<int64_t> shardDimOf(llvm::StringRef text);

// Over tensor parallelism, which may have two axes (passes/shard/StepMesh.h): the dim that each
// splits, -1 for none. "shard(2)" is the same on all, "shard(0)/replicate" two that differ.
std::string placementText(llvm::ArrayRef<int64_t> dims);

// The reverse for `numAxes` axes; nothing for another text.
std::optional<llvm::SmallVector<int64_t, 2>> placementDimsOf(llvm::StringRef text, size_t numAxes);

} // namespace dtc

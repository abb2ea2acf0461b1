// Groups the axes of a mesh that choose together. Internal to this folder.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// Each axis by itself, but those of data and those of tensor parallelism as one; in the order of
// the mesh.
std::vector<llvm::SmallVector<unsigned, 2>> axesTogether(const Mesh &mesh);

// Returns the number of ranks along all these axes together.
int64_t ranksOf(llvm::ArrayRef<unsigned> axes, const Mesh &mesh);

} // namespace dtc

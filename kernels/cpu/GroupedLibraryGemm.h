// Matrix products of groups of rows by oneDNN, on processors that multiply 16-bit numbers.
#pragma once

#include "kernels/cpu/GroupedGemmArgs.h"

#include <span>

namespace dtc::cpu {

class ThreadPool;

// The rows [first, first + count) of a group.
struct GroupRows {
  int64_t group, first, count;
};

// Computes the products of the groups that have rows, none of whose operands may have subnormal
// numbers (hasSubnormals). Its calls have the tiles of a dense product (cutForLibrary).
void groupedLibraryGemm(const GroupedGemmArgs &args, std::span<const GroupRows> groups,
                        ThreadPool &pool);

} // namespace dtc::cpu

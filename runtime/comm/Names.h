// What all backends say the same way.
#pragma once

#include "runtime/comm/Comm.h"

#include <vector>

namespace dtc::rt {

const char *nameOf(DataType type);
const char *nameOf(Reduction op);

// InvalidArgument unless sums and maxima of `type` are implemented: f32, i32, i64.
Status checkReducible(DataType type, const char *operation);

// "all-reduce of 1024 f32" for messages.
std::string describeCall(const char *operation, size_t count, DataType type);

// " on group 'dp' (rank 1 of 4)" for messages.
std::string describeMember(const Comm &comm);

// "rank 1" or "ranks 1, 2 and 5", of the first sixteen.
std::string listRanks(const std::vector<int> &ranks);

} // namespace dtc::rt

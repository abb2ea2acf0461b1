// Sums the bytes that the ranks of a program send in a training step.
#pragma once

#include "runtime/format/dte_generated.h"

#include <string>
#include <vector>

namespace dtc {

// All collectives or sends of one group, kind and role.
struct Traffic {
  std::string group; // "dp", "dp x cp"
  std::string kind;  // "all_reduce", "send"
  format::CollectiveRole role;
  uint64_t count = 0;
  uint64_t bytes = 0; // bytes sent by one rank
};

// Per training step of one rank, in the order in which they first come.
std::vector<Traffic> trafficOf(const format::Manifest &manifest, const format::Program &program);

// Bytes that one of `ranks` ranks sends with the algorithms that send least (Patarasuk and Yuan
// 2009, doi:10.1016/j.jpdc.2008.09.002, theorem 1), `bytes` being those of the larger buffer:
// all_reduce 2 (n-1)/n of them, the others (n-1)/n.
uint64_t leastBytesSent(format::CollectiveKind kind, uint64_t bytes, uint64_t ranks);

} // namespace dtc

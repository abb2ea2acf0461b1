// Orders in which pipeline stages go over the groups of devices of an uneven system. Internal to
// this folder.
#pragma once

#include "compiler/describe/topology/Topology.h"

namespace dtc {

// The first rank of each stage, in the order of stages. A stage has the ranks from there on.
using StageStarts = std::vector<int64_t>;

// Returns the orders of stages of `stageSize` devices: first that of ranks, then its reverse. If
// every group holds whole stages, also the groups in other orders, with their stages by rank: all
// orders of up to four groups; of more groups, from the fastest to the slowest, from the most
// memory to the least, and both reversed. No order occurs twice.
// Example: groups of 8, 8 and 16 devices and stages of 8 have the starts {0, 8, 16, 24}, {24, 16,
// 8, 0} and those of the orders of three groups but the first: {0, 16, 24, 8}, {8, 0, 16, 24}, ...
std::vector<StageStarts> partOrders(llvm::ArrayRef<DeviceGroup> groups, int64_t stageSize);

} // namespace dtc

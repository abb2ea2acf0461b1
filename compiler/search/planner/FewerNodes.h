// Finds the numbers of nodes that may train faster than all nodes of a system. Internal to this
// folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/decide/plan/Plan.h"
#include "compiler/describe/topology/Topology.h"

namespace dtc {

// Returns the node counts from `least` to all but one on which a plan may be faster than on all,
// the largest first; empty for heterogeneous systems. Ranks of dp divide the global batch, so the
// other axes have to take the devices divided by their greatest common divisor with the batch: 9 of
// 72 devices for a batch of 512, none of 64. A count is included if no larger one leaves fewer than
// twice as many ranks to the other axes with no larger prime factor. Halves, quarters and so on of
// all nodes are included too, since the batch may be too small for any more nodes to help. Example:
// for a batch of 512 on nodes of 8 devices, 9 nodes give 8, 4, 2, 1 and 100 nodes give 96, 64, 50,
// 25, ...
// Pinned axes have to divide the devices of each count, and to fill them if no axis is open.
std::vector<int64_t> fewerNodeCounts(const Topology &topology, int64_t globalBatch, int64_t least,
                                     const Pins &pins);

// Returns the global batches nearest to the plan's that fit all devices with the plan's tensor,
// pipeline and context parallelism and micro-batch, the nearest first. Empty if these degrees do
// not divide all devices.
std::vector<int64_t> batchesForAll(const Plan &plan, int64_t allDevices);

} // namespace dtc

// Numbers of nodes that may train faster than all of a system. Internal to this folder.
#pragma once

#include "compiler/plan/Plan.h"
#include "compiler/planner/Pins.h"
#include "compiler/topology/Topology.h"

namespace dtc {

// Returns numbers of nodes below all of them, `least` and more, on which a plan may be faster than
// on all, the largest first; empty where nodes differ. Ranks of dp divide the global batch, so that
// the devices over their greatest common divisor with it are what other axes have to take: 9 of 72
// devices for a batch of 512, none of 64. A number is there if no larger one leaves fewer than
// twice as many ranks to other axes, with no larger prime factor; and so are halves, quarters and
// so on of all nodes, where a batch may be too small for any more of them to help. Example: for a
// batch of 512 on nodes of 8 devices, of 9 nodes 8, 4, 2, 1; of 100 nodes 96, 64, 50, 25, ...
// Axes that are pinned divide the devices of each number, and are all of them where no axis is open.
std::vector<int64_t> fewerNodeCounts(const Topology &topology, int64_t globalBatch, int64_t least,
                                     const Pins &pins);

// Returns the global batches nearest to the plan's that all devices would divide as those of the
// plan divide its own, the nearest first: with as much tensor, pipeline and context parallelism,
// and the same micro-batch. Empty where these do not divide all devices.
std::vector<int64_t> batchesForAll(const Plan &plan, int64_t allDevices);

} // namespace dtc

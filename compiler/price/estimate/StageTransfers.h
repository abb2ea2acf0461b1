// Seconds that activations and their gradients take from stage to stage. Internal to compiler/.
#pragma once

#include "compiler/price/estimate/AxisGroups.h"
#include "compiler/price/estimate/StageDevices.h"

namespace dtc {

struct Decisions;

// Seconds of one activation from a stage to the next.
struct StageTransfers {
  double slowest = 0;       // at the slowest boundary
  std::vector<double> each; // one per boundary between stages, if they differ
};

// Returns the transfers of activations of `bytes` between stages on homogeneous devices. None
// without a pipeline.
StageTransfers transfersBetween(double bytes, const AxisGroups &groups, const Decisions &decisions,
                                const Topology &topology);

// The tensor-parallel ranks of the stages on one kind of heterogeneous devices, and the bytes of an
// activation there.
struct KindOfActivation {
  double bytes = 0;
  RankGroup tp;
};

// Returns the transfers of activations of `bytes` between stages on heterogeneous devices. `kinds`
// has one entry for each of `devices.kinds`.
StageTransfers transfersOver(double bytes, const StageDevices &devices,
                             llvm::ArrayRef<KindOfActivation> kinds, const Decisions &decisions);

// Returns the seconds of one message of `bytes` from each stage to the next, with stages along
// `group` on homogeneous devices: neighbours inside a node have faster links than those on its
// border. Empty if all boundaries are equal.
// Example: 4 stages of 4 devices on nodes of 8 are {inside, border, inside}.
std::vector<double> transfersAlong(const RankGroup &group, double bytes, const Topology &topology);

} // namespace dtc

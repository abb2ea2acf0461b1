// Seconds by measured curves, where a topology carries them. Internal to this folder.
//
// What a curve says is always relative to the analytic model: a product of a shape that nobody
// measured takes the model's seconds over the efficiency (model / measured) of the shapes near it.
#pragma once

#include "compiler/describe/topology/Calibration.h"
#include "compiler/price/cost/Cost.h"

namespace dtc {

// Seconds of `work` on a device with a calibration; `model` gives the analytic seconds of any work
// on it. Products and attention: model / efficiency, which is interpolated in log space between the
// measured shapes, and beyond them is that of the nearest. Memory: interpolated in bytes, rising.
// Where nothing of the kind was measured: the model. At a measured point: what was measured.
double calibratedSeconds(const OpWork &work, const DeviceKind &device,
                         llvm::function_ref<double(const OpWork &)> model);

// No product or attention of the work's kind, whatever its shape, is more times faster than the
// model has it.
double mostEfficiency(const OpWork &work, const DeviceKind &device);

// Seconds of a collective in a homogeneous topology whose device has a calibration; `model` is the
// analytic figure of the call. Only groups that one level joins have curves; rising in bytes.
double calibratedCollective(CollectiveKind kind, double bytes, const RankGroup &group,
                            const Topology &topology, double model);

} // namespace dtc

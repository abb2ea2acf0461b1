// Seconds that one op takes on one device. Analytic, with constants in Constants.cpp; where the
// topology carries measured curves, corrected by them.
#pragma once

#include "compiler/price/cost/OpModel.h"

namespace dtc {

// max(flops / (peak x efficiency), bytes / achieved bandwidth) + launch. The efficiency of products
// falls with tile quantisation, wave quantisation and short k; that of attention with the sequence
// length. No work costs nothing. A type that the device does not support is computed as f32.
// Measured curves are of single launches: of replayed ones what is less than two launches long is
// shorter, as the next launch no longer waits for the host.
double secondsOf(const OpWork &work, const DeviceKind &device, Launch launch = Launch::Single);

// No ops that do that much work of the kind, however they are cut and spread, take a device less:
// products and attention of as long rows at the rate of their best shape, other ops at the memory's
// rate; no launches. What a calibration knows of memory is left out.
double leastSecondsOf(const OpWork &work, const DeviceKind &device);

} // namespace dtc
